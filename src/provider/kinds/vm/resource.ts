/**
 * `proxwright_vm`. The ownership line of a VM says "incomplete" until everything is done, readiness included. A create that
 * fails leaves that mark and returns no state, so the host asks for the VM again and the next create resumes there.
 */

import { macsOf } from '../../../kinds/vm/config/parts.ts';
import { effectiveValues, readVm } from '../../../kinds/vm/observed.ts';
import { managedNic } from '../../../kinds/vm/ready/checks.ts';
import type { VmRecord } from '../../../kinds/vm/record.ts';
import type { ResolvedVm } from '../../../kinds/vm/stack.ts';
import { filledIn, textAt, valueIn } from '../../adapter/attributes.ts';
import type { Deps, DepsOf } from '../../adapter/deps.ts';
import { runEngine } from '../../adapter/engine-run.ts';
import type { Applied, Held, Planned, ResourceKind } from '../../adapter/kind.ts';
import { problemFrom } from '../../adapter/outcome.ts';
import { resourceOf } from '../../adapter/resource.ts';
import { type CtyObject, type CtyValue, objectOf } from '../../cty/value.ts';
import type { ProviderDiagnostic, ResourceType } from '../../provider.ts';
import { nothingOf } from '../../values/from-fields.ts';
import { computedValues } from './computed.ts';
import { type DesiredVm, desiredVm, VM_RULES, withPlannedPower } from './desired.ts';
import { KnownVms, recordedIncomplete } from './leftovers.ts';
import { beforeDeletion, removeMark } from './marks.ts';
import {
  type ExistingVm,
  findVmToImport,
  importedState,
  lookAt,
  movedPassword,
  movedVmid,
  refreshed,
} from './observed.ts';
import { planVmCreate, planVmDestroy, planVmUpdate, restartNote } from './plan.ts';
import {
  addressesOf,
  isSwitchedOff,
  isSwitchOff,
  keptFor,
  NOTHING_KEPT,
  outageGroup,
  recordedVm,
  type SoloVm,
  VM_PRIVATE_STATE,
  type VmPrivate,
  workOn,
} from './recorded.ts';
import { USER_ATTRIBUTES, VM, VM_SCHEMA } from './schema.ts';
import { digestOf, NO_SECRETS, secretsOf, type VmSecrets, withFormerPassword } from './secrets.ts';
import { managedPaths } from './values/planned.ts';

export function vmResource(depsOf: DepsOf, known = new KnownVms()): ResourceType {
  return resourceOf(vmKind(known), depsOf);
}

const IMPORTED: VmPrivate = { imported: true, ...NOTHING_KEPT };

export function vmKind(known: KnownVms): ResourceKind<DesiredVm, VmPrivate> {
  return {
    ...VM_RULES,
    privateState: VM_PRIVATE_STATE,
    noteState: (state) => known.noteState(state),
    read,
    planCreate: async (_, request) => planVmCreate(known, request),
    planUpdate: (deps, request, prior) => planVmUpdate(known, deps, request, prior),
    planDestroy: (prior) => planVmDestroy(known, prior),
    create: (deps, request) => create(known, deps, request),
    update: (deps, request, prior) => update(known, deps, request, prior),
    destroy: (deps, prior) => destroy(known, deps, prior),
    import: async (deps, id) => ({ state: importedState(await findVmToImport(deps, id)), kept: IMPORTED }),
    // The state holds the id alone; the read that follows imports the VM.
    move: (request) => {
      const formerPassword = movedPassword(request);
      return {
        state: objectOf([...Object.entries(nothingOf(VM_SCHEMA.attributes)), ['vmid', movedVmid(request)]]),
        kept: { ...IMPORTED, ...(formerPassword !== undefined && { formerPassword }) },
      };
    },
  };
}

/** The present values of a VM, in the form of the state. Waits for nothing and asks no guest. */
async function read(deps: Deps, { state, kept }: Held<VmPrivate>): Promise<Held<VmPrivate> | null> {
  const isMoved = kept.imported && valueIn(state, 'id') === null;
  if (isMoved) {
    const { imported: _, ...rest } = kept;
    return { state: importedState(await findVmToImport(deps, String(state.vmid))), kept: rest };
  }
  const { vm, timeouts } = desiredVm(state, true);
  const solo = { vm, recorded: recordedVm(state, kept), timeouts, secrets: NO_SECRETS };
  const look = await lookAt(deps, deps.looks, solo);
  if (!look.vm) return null;
  if (kept.imported) return { state: importedState(look.vm), kept: NOTHING_KEPT };
  const { attributes, restartPending } = refreshed(deps, state, { ...look, vm: look.vm }, solo);
  const computed = computedValues(look.vm, {
    addresses: addressesOf(state),
    managedNic: managedNic(vm.fields, Object.keys(macsOf(effectiveValues(look.vm)))),
    restartPending,
    secretsDigest: textAt(state, 'secrets_digest') ?? null,
  });
  const { switchedOff: _, ...rest } = kept;
  const isOff = await isSwitchedOff(deps, state, kept, look.vm);
  return {
    state: objectOf(Object.entries({ ...attributes, ...computed })),
    kept: isOff === (kept.switchedOff === true) ? kept : isOff ? { ...rest, switchedOff: true } : rest,
  };
}

async function create(
  known: KnownVms,
  deps: Deps,
  { planned, config, desired }: Planned<DesiredVm>,
): Promise<Applied<VmPrivate>> {
  const { vm, timeouts } = desired;
  const { name, vmid } = vm.fields;
  const leftovers = known.leftovers(deps);
  const leftover = await leftovers.find({ name, vmid }, deps.signal);
  // A VM that an earlier process finished a moment ago is not in the list of the cluster yet.
  const listed = (await leftovers.list(deps.signal)).map((row) => ({ ...row, type: 'qemu' }));
  if (leftover) deps.log.log('info', `Completing VM ${leftover.vmid}, which an earlier run left.`);
  const secrets = await secretsOf(deps, config, vm);
  const solo: SoloVm = { vm, recorded: leftover && recordedIncomplete(leftover), timeouts, secrets };
  const { problems, state } = await runEngine(deps, workOn({ ...solo, vm: marked(vm) }), VM, (session) =>
    session.plan({ asIncomplete: true, strictClaims: true, checkAddresses: false, chooseIds: false, listed }),
  );
  const recorded = state.vms[vm.address];
  if (problems.length > 0 || !recorded?.uuid)
    return { diagnostics: [...problems, ...incompleteNote(problems, recorded)] };
  try {
    const applied = { planned, config, vm, recorded, secrets };
    const look = await lookAfter(deps, applied);
    const now = finished(deps, applied, look);
    await removeMark(deps, { ...solo, recorded }, look.vm);
    return { now, diagnostics: [] };
  } catch (error) {
    const problem = problemFrom(error, VM);
    return { diagnostics: [problem, ...incompleteNote([problem], recorded)] };
  }
}

/** A VM that is to have no ownership line has one until it is complete. */
function marked(vm: ResolvedVm): ResolvedVm {
  return { ...vm, fields: { ...vm.fields, ownership: 'line' } };
}

function incompleteNote(problems: readonly ProviderDiagnostic[], left: VmRecord | undefined): ProviderDiagnostic[] {
  if (left === undefined || problems.length === 0) return [];
  return [
    {
      severity: 'warning',
      summary: 'An incomplete VM stays',
      detail:
        `VM ${left.vmid} on ${left.node} ("${left.name}") stays and is marked as incomplete: the next apply completes it. ` +
        'If you remove this resource from the configuration instead, remove the VM by hand; the data source proxwright_vms lists it with incomplete = true.',
    },
  ];
}

async function update(
  known: KnownVms,
  deps: Deps,
  { planned, config, desired }: Planned<DesiredVm>,
  prior: Held<VmPrivate>,
): Promise<Applied<VmPrivate>> {
  const { timeouts } = desired;
  const vm = withPlannedPower(desired.vm, planned);
  const secrets = await secretsOf(deps, config, vm);
  const kept = withFormerPassword(keptFor(vm, prior.kept), secrets);
  let recorded = recordedVm(prior.state, kept);
  let problems: readonly ProviderDiagnostic[];
  const applied = (): AppliedVm => ({ planned, config, vm, recorded, secrets });
  // The host calls for the members of a group at the same moment: count this one before another one asks for its turn.
  const giveBack = kept.switchedOff && deps.limits.outages.hold(vm.address, outageGroup(vm));
  try {
    const ended = await known.leftovers(deps).settle(recorded, deps.signal);
    const wasSwitchedOff = ended.some(isSwitchOff);
    if (wasSwitchedOff) recorded = { ...recorded, lastApplied: { ...recorded.lastApplied, power: 'stopped' } };
    const offSince = wasSwitchedOff || kept.switchedOff ? deps.clock.now() : undefined;
    const run = await runEngine(deps, workOn({ vm, recorded, timeouts, secrets, offSince }), VM, (session) =>
      session.plan({ checkAddresses: false, chooseIds: false, claimsAlone: false }),
    );
    recorded = run.state.vms[vm.address] ?? recorded;
    problems = run.problems;
    if (problems.length === 0) {
      const now = finished(deps, applied(), await lookAfter(deps, applied()));
      return { now, diagnostics: restartNote(now.state) };
    }
  } catch (error) {
    problems = [problemFrom(error, VM)];
  } finally {
    if (giveBack) giveBack();
  }
  const wasOn = prior.state.status === 'running' || kept.switchedOff === true;
  // If it cannot be read now, the state stays as it was, and the next refresh reads it.
  const now = await halfDone(deps, applied(), { state: prior.state, wasOn }).catch(() => undefined);
  return { ...(now !== undefined && { now }), diagnostics: problems };
}

/** Destroys only the VM of the state, with its disks. */
async function destroy(known: KnownVms, deps: Deps, prior: Held<VmPrivate>): Promise<Applied<VmPrivate>> {
  const { vm, timeouts } = desiredVm(prior.state, true);
  const recorded = recordedVm(prior.state, prior.kept);
  const leftovers = known.leftovers(deps);
  await leftovers.settle(recorded, deps.signal);
  const solo = { vm, timeouts, recorded, secrets: NO_SECRETS };
  await beforeDeletion(deps, solo, prior, leftovers);
  const running = prior.state.stop_on_destroy === true ? 'stop' : 'shutdown';
  const { problems } = await runEngine(deps, workOn(solo), VM, (session) => session.planDestroy({ running }));
  if (problems.length > 0) return { diagnostics: problems };
  leftovers.noteDestroyed(recorded.vmid);
  return { now: null, diagnostics: [] };
}

interface AppliedVm {
  readonly planned: CtyObject;
  readonly config: CtyObject;
  readonly vm: ResolvedVm;
  readonly recorded: VmRecord;
  readonly secrets: VmSecrets;
}

const soloAfter = ({ vm, recorded, secrets }: AppliedVm): SoloVm => ({ vm, recorded, timeouts: {}, secrets });

/** The VM after everything was done. */
async function lookAfter(deps: Deps, applied: AppliedVm): Promise<ExistingVm> {
  const { work, signal } = deps;
  const { node, vmid } = applied.recorded;
  const look = await lookAt(deps, work, soloAfter(applied));
  return { ...look, vm: look.vm ?? (await readVm(work, node, vmid, { signal })) };
}

/** As planned, with what only the server knew filled in. What changed since the plan shows in the next one. */
function finished(deps: Deps, applied: AppliedVm, look: ExistingVm): Held<VmPrivate> {
  const { planned, vm, recorded, secrets } = applied;
  const { restartPending } = refreshed(deps, planned, look, soloAfter(applied));
  const computed = computedValues(look.vm, {
    addresses: recorded.addresses,
    managedNic: managedNic(vm.fields, Object.keys(recorded.macs)),
    restartPending,
    secretsDigest: digestOf(secrets),
  });
  return { state: filledIn(VM_SCHEMA.attributes, planned, computed), kept: keptOf(applied) };
}

/** After a failure the attributes say what the VM is now, so that the next plan shows the rest. */
async function halfDone(
  deps: Deps,
  applied: AppliedVm,
  prior: { readonly state: CtyObject; readonly wasOn: boolean },
): Promise<Held<VmPrivate> | null> {
  const { planned, vm, recorded } = applied;
  // Also after Ctrl-C: the host has to learn what exists.
  const calm = { ...deps, signal: new AbortController().signal };
  const look = await lookAt(calm, deps.work, soloAfter(applied));
  if (!look.vm) return null;
  const { attributes, restartPending } = refreshed(deps, planned, { ...look, vm: look.vm }, soloAfter(applied));
  const computed = computedValues(look.vm, {
    addresses: recorded.addresses,
    managedNic: managedNic(vm.fields, Object.keys(recorded.macs)),
    restartPending,
    secretsDigest: textAt(prior.state, 'secrets_digest') ?? null,
  });
  // `node` and `power` act only when they change, so they count as changed only when that is done.
  const isOff = prior.wasOn && !look.vm.running && vm.fields.power === 'running';
  const { node: appliedNode } = recorded.lastApplied;
  const node = typeof appliedNode === 'string' ? appliedNode : valueIn(prior.state, 'node');
  const power = isOff ? valueIn(prior.state, 'power') : powerOf(recorded, prior.state);
  const state = filledIn(
    VM_SCHEMA.attributes,
    objectOf(Object.entries({ ...attributes, node, power, ...computed })),
    {},
  );
  return { state, kept: keptOf(applied, isOff) };
}

function powerOf({ lastApplied: { power } }: VmRecord, prior: CtyObject): CtyValue {
  // An attribute that was not set before is not set now.
  return typeof power === 'string' && prior.power !== null ? power : valueIn(prior, 'power');
}

function keptOf({ config, recorded }: AppliedVm, switchedOff = false): VmPrivate {
  const managed = managedPaths(USER_ATTRIBUTES, config);
  const { seed, oldSeeds, lastApplied } = recorded;
  const documents = { ...(seed && { seed }), ...(oldSeeds?.length && { oldSeeds }) };
  return { ...(switchedOff && { switchedOff }), managed, applied: lastApplied, ...documents };
}
