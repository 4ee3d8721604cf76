/**
 * `vm.clone` and `vm.create`: choose an id, journal a nonce, send the request, wait for its task, and read the result to
 * prove that it is ours. Sending the same id and nonce again is safe: only one of two requests can get the id, and the
 * nonce shows that it was ours. A new VM is never started by the same request, because that would hide failures.
 */

import { hasCode, invariant, isCanceled, isFamily, ProxwrightError } from '../../../../base/errors.ts';
import { advice, command } from '../../../../base/hint.ts';
import { randomHex } from '../../../../base/random.ts';
import { Attempts, RETRIES } from '../../../../base/retry.ts';
import { printDuration } from '../../../../base/values/units.ts';
import { type FormParams, isNotExecuted, isOutcomeUnknown, type Upid } from '../../../../pve/index.ts';
import { foreign } from '../../../safety/foreign.ts';
import { follow, isTaskLost } from '../../../safety/tasks.ts';
import { unpackDesired } from '../../config/packed.ts';
import { macsOf } from '../../config/parts.ts';
import { creationValues } from '../../config/writes.ts';
import { vmName } from '../../identity.ts';
import type { VmObserved } from '../../observed.ts';
import { appendOwnership, printOwnership } from '../../ownership.ts';
import type { VmRecord } from '../../record.ts';
import type { CloneInput, CreateInput, IdChoice } from '../../steps.ts';
import type { VmAction, VmContext } from '../context.ts';
import { whileTaskLocks } from '../safety/locked.ts';
import { knownVm, look } from '../safety/look.ts';
import { idTaken, type Making, occupantOf, settledOccupant } from '../safety/occupant.ts';
import { chooseId } from './records.ts';

interface MakingJob {
  readonly what: 'clone' | 'create';
  readonly name: string;
  readonly ids: IdChoice;
  /** Node that runs the task. */
  readonly node: string;
  /** Of a template: what it is made from. */
  readonly recipe: string | undefined;
  /** The VM's own notes, without the ownership line. */
  readonly notes: string | undefined;
  /** Of a clone: what it is copied from. */
  readonly source?: VmRecord['source'];
  /** Of a clone: the VM whose lock Proxmox checks. */
  readonly from?: { readonly node: string; readonly vmid: number };
  /** A linked clone copies no disk: it is over soon, and its log tells no progress. */
  readonly isQuick?: boolean;
  readonly send: (vmid: number, notes: string) => Promise<Upid>;
}

/** Of a linked clone. The first one of a run is polled then, and the others when that one was over. */
const QUICK_MS = 500;

const NONCE_DIGITS = 24;

async function makeVm(context: VmContext, job: MakingJob): Promise<void> {
  if (context.recorded()?.uuid !== undefined) {
    // An earlier call created it: only check that it is still there.
    await look(context);
    return;
  }
  const startedAt = context.clock.ticks();
  let making = await takenUp(context, job);
  const from = () => job.from;
  await whileTaskLocks(context, `${job.what} ${context.address}`, from, async () => {
    if (context.recorded()?.uuid !== undefined) return;
    const patience = context.pve.reach.patience(context.signal);
    let isInterrupted = false;
    const tries = new Attempts(RETRIES.make, context);
    for (;;) {
      try {
        // A request may have been sent before the daemon became unavailable: check for its result before sending another.
        if (making && isInterrupted && (await isMade(context, making))) return;
        isInterrupted = false;
        making ??= newMaking(context, job, reservedId(context) ?? (await chooseId(context, job.ids)));
        const next = await attempt(context, job, making);
        if (next === 'made') return;
        if (tries.next(next.because) === undefined) throw next.because;
        if (next.kind === 'other-id') making = undefined;
      } catch (error) {
        if (!(await patience.again(error))) throw error;
        isInterrupted = true;
      }
    }
  });
  const { vmid, node } = knownVm(context);
  const tookMs = context.clock.ticks() - startedAt;
  context.log.log('debug', `${context.address}: ${vmName({ vmid, node })} made in ${printDuration(tookMs)}`, {
    tookMs,
  });
}

/** Resumes what an interrupted run journaled: checks the outcome first, then continues with the same id and nonce. */
async function takenUp(context: VmContext, job: MakingJob): Promise<Making | undefined> {
  const recorded = context.recorded();
  if (recorded?.nonce === undefined) return undefined;
  const making = { node: recorded.node, vmid: recorded.vmid, nonce: recorded.nonce };
  const occupant = await settledOccupant(context, making);
  if (occupant.kind === 'ours') {
    await recordMade(context, occupant.vm);
    return making;
  }
  const { vmid, vmids } = job.ids;
  const isDesired = vmid === undefined ? (vmids?.includes(making.vmid) ?? true) : vmid === making.vmid;
  const isOpen = occupant.kind === 'free' && context.ids.reserve(making.vmid, context.address);
  return isDesired && isOpen ? { ...making, node: job.node } : undefined;
}

async function isMade(context: VmContext, making: Making): Promise<boolean> {
  const occupant = await settledOccupant(context, making);
  if (occupant.kind === 'ours') await recordMade(context, occupant.vm);
  return occupant.kind === 'ours';
}

/** The id that an earlier step reserved; no request with another nonce has used it. */
function reservedId(context: VmContext): number | undefined {
  const recorded = context.recorded();
  const vmid = recorded?.nonce === undefined ? recorded?.vmid : undefined;
  return vmid !== undefined && context.ids.reserve(vmid, context.address) ? vmid : undefined;
}

function newMaking(context: VmContext, job: MakingJob, vmid: number): Making {
  const nonce = context.recorded()?.nonce ?? randomHex(context.random, NONCE_DIGITS);
  return { node: job.node, vmid, nonce };
}

/**
 * The result of a request: the VM exists, or nothing was created and the request is sent again with this id or another
 * one.
 */
type Next = 'made' | { readonly kind: 'same-id' | 'other-id'; readonly because: unknown };

/** One request with its task and the read of the result. */
async function attempt(context: VmContext, job: MakingJob, making: Making): Promise<Next> {
  const { vmid, nonce, node } = making;
  const sentAt = context.clock.now();
  const { name, recipe } = job;
  const template = recipe === undefined ? undefined : { recipe };
  const source = job.source && { source: job.source };
  await context.intend({ ...making, sentAt }, { phase: 'creating', vmid, node, name, nonce, template, ...source });
  const owner = { stack: context.stack, address: context.address, vmid, ...lineageOf(context, recipe) };
  const line = printOwnership({ ...owner, recipe, nonce, incomplete: true });
  try {
    context.progress(job.what);
    context.observed.acted = true;
    const upid = await job.send(vmid, appendOwnership(job.notes ?? '', line));
    const pace = job.isQuick ? { usualMs: QUICK_MS } : { withProgress: true };
    await follow(context, upid, { what: job.what, timeoutMs: context.timeouts.cloneMs, ...pace });
  } catch (error) {
    if (isCertain(error)) throw error;
    return afterFailure(context, job, making, error);
  }
  const occupant = await occupantOf(context, making);
  if (occupant.kind !== 'ours') throw lostAfterSuccess(context, making, occupant.kind);
  await recordMade(context, occupant.vm);
  return 'made';
}

/** Stacks share templates, so no state owns them. */
function lineageOf({ lineage }: VmContext, recipe: string | undefined): { lineage?: string | undefined } {
  return recipe === undefined ? { lineage } : {};
}

/** The failure leaves no doubt about what Proxmox did. */
function isCertain(error: unknown): boolean {
  if (isCanceled(error) || isFamily(error, 'auth') || isNotExecuted(error)) return true;
  // The task keeps running: the next run finds it by its intent.
  return hasCode(error, 'TASK_TIMEOUT');
}

async function afterFailure(context: VmContext, job: MakingJob, making: Making, error: unknown): Promise<Next> {
  const isDoubtful = isOutcomeUnknown(error) || isTaskLost(error);
  const isRace = hasCode(error, 'VMID_TAKEN');
  // A task of ours ran, so a locked configuration under this id is what it left behind.
  const isCertain = !isDoubtful && !isFamily(error, 'task');
  const occupant = await settledOccupant(context, making, { isCertain });
  context.log.log('debug', `${context.address}: ${job.what} to ${making.vmid} failed; the place is ${occupant.kind}`);
  switch (occupant.kind) {
    case 'ours':
      await recordMade(context, occupant.vm);
      if (isDoubtful || isRace || isFamily(error, 'busy')) return 'made';
      throw error;
    case 'stranger':
      if (job.ids.vmid !== undefined)
        throw idTaken(context, making.vmid, nameOf(occupant.name), error, !occupant.isHalfMade);
      context.ids.markTaken(making.vmid);
      return { kind: 'other-id', because: error };
    default:
      if (isDoubtful || isRace) return { kind: 'same-id', because: error };
      throw error;
  }
}

/** From here on the uuid identifies the VM. */
export async function recordMade(context: VmContext, vm: VmObserved): Promise<void> {
  invariant(vm.uuid !== undefined, `${vmName(vm)} has no uuid in smbios1.`);
  const name = vm.current.get('name');
  await context.learn({
    vmid: vm.vmid,
    uuid: vm.uuid,
    node: vm.node,
    phase: 'incomplete',
    macs: macsOf(vm.current),
    ...(name !== undefined && { name }),
  });
  context.observed.last = vm;
}

function nameOf(name: string | undefined): string | undefined {
  return name === undefined ? undefined : `the VM "${name}"`;
}

function lostAfterSuccess(context: VmContext, making: Making, occupant: string): ProxwrightError {
  const where = { address: context.address };
  const hint = advice`Make a new plan: ${command('plan')}.`;
  const made = `VM ${making.vmid} was created for ${context.address}`;
  if (occupant === 'free') {
    const detail = `${made} and no longer exists: another client removed it.`;
    return new ProxwrightError({ code: 'PLAN_STALE', detail, where, hint });
  }
  const why = `${made}, but the VM with this id does not carry our nonce (${making.nonce}): another client replaced it.`;
  return foreign({ why, where, hint });
}

export const cloneVm: VmAction<CloneInput> = async (context, input) => {
  const { source, target } = input;
  const isFull = input.mode === 'full';
  const sourceId =
    source.address === undefined ? source.vmid : (context.recordedOf(source.address)?.vmid ?? source.vmid);
  await makeVm(context, {
    what: 'clone',
    name: input.name,
    ids: input,
    node: source.node,
    recipe: input.recipe,
    notes: input.notes,
    from: { node: source.node, vmid: sourceId },
    isQuick: !isFull,
    ...(source.reference !== undefined && { source: { reference: source.reference, vmid: sourceId } }),
    send: (newid, description) =>
      context.pve
        .node(source.node)
        .vm(sourceId)
        .clone(
          {
            newid,
            name: input.name,
            description,
            full: isFull,
            pool: input.pool,
            // A linked clone stays on its template's storage, and Proxmox refuses a request that names one.
            ...(isFull && { storage: input.storage, format: input.format }),
            ...(target !== undefined && target !== source.node && { target }),
          },
          { signal: context.signal },
        ),
  });
};

export const createVm: VmAction<CreateInput> = async (context, input) => {
  const { node, name, pool } = input;
  const notes = input.desired.find(({ desired }) => desired.kind === 'notes')?.desired;
  await makeVm(context, {
    what: 'create',
    name,
    ids: input,
    node,
    recipe: input.recipe,
    notes: notes?.kind === 'notes' ? (notes.text ?? undefined) : undefined,
    send: (vmid, description) => {
      const params = { ...creationParams(context, input, vmid), vmid, name, description, pool };
      return context.pve.node(node).vms.create(params, { signal: context.signal });
    },
  });
};

function creationParams(context: VmContext, input: CreateInput, vmid: number): FormParams {
  const { stack, lineage, address } = context;
  const secret = (key: string) => context.secret(key);
  return creationValues(unpackDesired(input.desired, { stack, lineage, address, vmid, uuid: undefined, secret }));
}
