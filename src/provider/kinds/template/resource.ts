/**
 * `proxwright_template`. A changed recipe builds a new version beside the old one. A build that fails leaves its VM marked as
 * incomplete, and the next apply resumes with it.
 */

import type { Address } from '../../../base/address.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { nodeCommand } from '../../../base/text/node-command.ts';
import { finalFields } from '../../../kinds/template/building.ts';
import { retiredAddress } from '../../../kinds/template/versions.ts';
import type { VmObserved } from '../../../kinds/vm/observed.ts';
import { findOwnership, ownershipCounts } from '../../../kinds/vm/ownership.ts';
import type { VmRecord } from '../../../kinds/vm/record.ts';
import type { Pve } from '../../../pve/index.ts';
import { filledIn, valueIn } from '../../adapter/attributes.ts';
import type { Deps, DepsOf } from '../../adapter/deps.ts';
import { EMPTY_STACK, ownerName, runEngine } from '../../adapter/engine-run.ts';
import type { Applied, Held, Planned, ResourceKind } from '../../adapter/kind.ts';
import { resourceOf } from '../../adapter/resource.ts';
import type { Timeouts } from '../../adapter/timeouts.ts';
import { type CtyObject, type CtyValue, objectOf } from '../../cty/value.ts';
import type { ProviderDiagnostic, ResourceType } from '../../provider.ts';
import { equalValues } from '../../values/equal.ts';
import { writeOnlyProblems } from '../vm/desired.ts';
import type { KnownVms } from '../vm/leftovers.ts';
import { findVm, importedAttributes, lookAt, refreshed } from '../vm/observed.ts';
import { NO_SECRETS, secretsOf, type VmSecrets } from '../vm/secrets.ts';
import { managedPaths } from '../vm/values/planned.ts';
import {
  type DesiredTemplate,
  desiredTemplate,
  knownRecipe,
  TEMPLATE,
  TEMPLATE_SCHEMA,
  USER_ATTRIBUTES,
} from './desired.ts';
import { isOutdated, planTemplateCreate, planTemplateDestroy, planTemplateUpdate } from './plan.ts';
import {
  findLeftover,
  NOTHING_KEPT,
  type RetiredVersion,
  recordedFinished,
  recordedTemplate,
  recordedUnfinished,
  recordedVersion,
  recordedVersions,
  TEMPLATE_PRIVATE_STATE,
  type TemplatePrivate,
  type Versions,
  versionOf,
  versionsIn,
} from './versions.ts';

export function templateResource(depsOf: DepsOf, known: KnownVms): ResourceType {
  return resourceOf(templateKind(known), depsOf);
}

export function templateKind(known: KnownVms): ResourceKind<DesiredTemplate, TemplatePrivate> {
  return {
    subject: TEMPLATE,
    schema: TEMPLATE_SCHEMA,
    privateState: TEMPLATE_PRIVATE_STATE,
    desired: desiredTemplate,
    validate: (config, capabilities) => writeOnlyProblems(config, capabilities, TEMPLATE_SCHEMA.attributes),
    noteState: (state) => known.noteState(state),
    read,
    planCreate: (deps, request) => planTemplateCreate(known, deps, request),
    planUpdate: (deps, request, prior) => planTemplateUpdate(known, deps, request, prior),
    planDestroy: (prior) => planTemplateDestroy(known, prior),
    create: (deps, request) => create(known, deps, request),
    update: (deps, request, prior) => update(known, deps, request, prior),
    destroy: (deps, prior) => destroy(known, deps, prior),
    import: importTemplate,
  };
}

/** Whether the template exists, and is still what it was built as. */
async function read(deps: Deps, { state, kept }: Held<TemplatePrivate>): Promise<Held<TemplatePrivate> | null> {
  const { template, timeouts } = desiredTemplate(state);
  const { fields } = template.vm;
  const vm = { ...template.vm, fields: template.install ? finalFields(fields, new Map()) : fields };
  const solo = { vm, recorded: recordedTemplate(state, kept), timeouts, secrets: NO_SECRETS };
  const look = await lookAt(deps, deps.looks, solo);
  // A VM that is no longer a template cannot be cloned as one: it was restored, or created again.
  if (!look.vm?.template) return null;
  const existing = { ...look, vm: look.vm };
  const { attributes } = refreshed(deps, state, existing, solo, { vm, attributes: USER_ATTRIBUTES });
  const { name, ...others } = attributes;
  const isRenamed = !equalValues(name ?? null, valueIn(state, 'name')) && !isRetired(look.vm, template.name);
  const isOther = Object.entries(others).some(([each, value]) => !equalValues(value, valueIn(state, each)));
  // The state keeps the configured name; another name on the server shows as a missing recipe.
  const shown: CtyObject = {
    ...others,
    name: valueIn(state, 'name'),
    id: `${look.vm.node}/${look.vm.vmid}`,
    recipe: isRenamed || isOther ? null : valueIn(state, 'recipe'),
  };
  const isNewlyChanged = (isRenamed || isOther) && !kept.changed;
  return {
    state: objectOf(Object.entries<CtyValue>({ ...state, ...shown })),
    kept: isNewlyChanged ? { ...kept, changed: true } : kept,
  };
}

/** A run that was interrupted has already renamed this version, to give its name to the next one. */
function isRetired({ vmid, current }: VmObserved, name: string): boolean {
  const [, beginning] = new RegExp(`^(.+)-retired-${vmid}$`).exec(current.get('name') ?? '') ?? [];
  return beginning !== undefined && name.startsWith(beginning);
}

/** Takes over a template by `node/vmid`, `vmid` or name. Its recipe is known only if its notes hold it. */
async function importTemplate(deps: Deps, id: string): Promise<Held<TemplatePrivate>> {
  const vm = await findVm(deps, id);
  if (!vm.template) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      detail: `VM ${vm.vmid} on ${vm.node} is not a template.`,
      hint: 'Import it as a proxwright_vm, or copy it: from = { vm = … }.',
    });
  }
  const line = findOwnership(vm.current.get('description') ?? '');
  const recipe = line && ownershipCounts(line, vm) ? line.recipe : undefined;
  const computed = { id: `${vm.node}/${vm.vmid}`, uuid: vm.uuid ?? null, recipe: recipe ?? null };
  const attributes = importedAttributes(vm, USER_ATTRIBUTES);
  return { state: objectOf(Object.entries({ ...attributes, ...computed })), kept: NOTHING_KEPT };
}

async function create(
  known: KnownVms,
  deps: Deps,
  request: Planned<DesiredTemplate>,
): Promise<Applied<TemplatePrivate>> {
  const { config, desired } = request;
  const secrets = await secretsOf(deps, config, desired.template.vm);
  const recipe = knownRecipe(desired, secrets) ?? '';
  const built = await build(known, deps, { desired, secrets, recipe, current: undefined, retired: [] });
  const { problems, current } = built;
  if (problems.length === 0 && current?.uuid) return finished(request, { ...built, current, recipe });
  return { diagnostics: [...problems, ...(problems.length > 0 && current ? [unfinishedNote(current)] : [])] };
}

function unfinishedNote({ vmid, node, name }: VmRecord): ProviderDiagnostic {
  return {
    severity: 'warning',
    summary: 'An unfinished template stays',
    detail:
      `VM ${vmid} on ${node} ("${name}") stays and is marked as incomplete: the next apply completes it. ` +
      'If you remove this resource from the configuration instead, remove the VM by hand.',
  };
}

/** Builds a new version where the recipe changed. No other change touches the template. */
async function update(
  known: KnownVms,
  deps: Deps,
  request: Planned<DesiredTemplate>,
  prior: Held<TemplatePrivate>,
): Promise<Applied<TemplatePrivate>> {
  const { planned, config, desired } = request;
  const { retired, owner } = prior.kept;
  const current = recordedTemplate(prior.state, prior.kept);
  const secrets = await secretsOf(deps, config, desired.template.vm);
  const recipe = knownRecipe(desired, secrets) ?? '';
  if (!isOutdated(prior, planned, recipe)) {
    return finished(request, { current, recipe, retired, ...(owner !== undefined && { owner }) });
  }
  // A version that another owner built is not ours to keep as an earlier one.
  const ours = owner === undefined ? current : undefined;
  const built = await build(known, deps, { desired, secrets, recipe, current: ours, retired });
  const { problems } = built;
  if (problems.length === 0 && built.current?.uuid)
    return finished(request, { ...built, current: built.current, recipe });
  const isNew = built.current !== undefined && built.current.vmid !== current.vmid;
  return { diagnostics: [...problems, ...(isNew && built.current ? [unfinishedNote(built.current)] : [])] };
}

/** Destroys a template and its earlier versions. Earlier versions that linked clones still use stay, and are reported. */
async function destroy(
  known: KnownVms,
  deps: Deps,
  { state, kept }: Held<TemplatePrivate>,
): Promise<Applied<TemplatePrivate>> {
  const { template, timeouts } = desiredTemplate(state);
  const { name, vm } = template;
  const staying: RetiredVersion[] = [];
  let left = kept.retired;
  const failed = (diagnostics: readonly ProviderDiagnostic[]) => ({
    now: { state, kept: { ...kept, retired: left } },
    diagnostics,
  });
  for (const version of kept.retired) {
    const recorded = recordedVersion(version, name);
    const problems = await destroyVersion(known, deps, timeouts, retiredAddress(name, version.vmid), recorded);
    if (problems.some((problem) => !isInUse(problem))) return failed(problems);
    if (problems.length > 0) staying.push(version);
    else left = left.filter(({ vmid }) => vmid !== version.vmid);
  }
  const notes = staying.map(stillUsedWarning);
  if (kept.owner !== undefined) return { now: null, diagnostics: [stayingWarning(kept.owner, state), ...notes] };
  const problems = await destroyVersion(known, deps, timeouts, vm.address, recordedTemplate(state, kept));
  return problems.length > 0 ? failed(problems) : { now: null, diagnostics: notes };
}

async function destroyVersion(
  known: KnownVms,
  deps: Deps,
  timeouts: Timeouts,
  address: Address,
  version: VmRecord,
): Promise<readonly ProviderDiagnostic[]> {
  const leftovers = known.leftovers(deps);
  await leftovers.settle(version, deps.signal);
  const work = { desired: EMPTY_STACK, recorded: { vms: { [address]: version } }, secrets: new Map(), timeouts };
  const { problems } = await runEngine(deps, work, TEMPLATE, (session) =>
    session.planDestroy({ running: 'stop', all: true }),
  );
  if (problems.length === 0) leftovers.noteDestroyed(version.vmid);
  return problems;
}

/** Proxmox looks for linked clones before it removes anything. */
function isInUse({ code }: ProviderDiagnostic): boolean {
  return code === 'IN_USE';
}

function stillUsedWarning({ vmid, node }: RetiredVersion): ProviderDiagnostic {
  return {
    severity: 'warning',
    summary: 'An earlier version of the template stays',
    detail: `Linked clones use template ${vmid} on ${node}, an earlier version. It is no longer in the state; once they are gone, remove it by hand: ${nodeCommand('qm destroy', [vmid], { purge: 1 })}`,
  };
}

function stayingWarning(owner: string, { name, id }: CtyObject): ProviderDiagnostic {
  return {
    severity: 'warning',
    summary: 'The template stays',
    detail: `${owner} built "${String(name)}" (${String(id)}) from the same recipe, so it is not destroyed with this resource.`,
  };
}

interface Job extends Versions {
  readonly desired: DesiredTemplate;
  readonly secrets: VmSecrets;
  readonly recipe: string;
}

interface Built extends Versions {
  readonly problems: readonly ProviderDiagnostic[];
  /** Who built it, where that is another owner. */
  readonly owner?: string;
}

/** Builds a version: from nothing, or from where an earlier process stopped. */
async function build(known: KnownVms, deps: Deps, job: Job): Promise<Built> {
  const { work, signal, log } = deps;
  const { desired, recipe, current } = job;
  const { template } = desired;
  const retired = [...job.retired, ...(current ? versionOf(current) : [])];
  const leftovers = known.leftovers(deps);
  const query = { template, recipe, known: new Set(retired.map(({ vmid }) => vmid)) };
  const left = await findLeftover(work, await leftovers.list(signal), query, signal);
  if (left) await leftovers.settle(left.vm, signal);
  if (left?.kind === 'finished') {
    log.log('info', `Template ${left.vm.vmid} was already built from this recipe.`);
    const isOurs = left.owner === ownerName(work);
    return { problems: [], current: recordedFinished(left, recipe), retired, ...(!isOurs && { owner: left.owner }) };
  }
  if (!left) return runBuild(deps, job, { current, retired: job.retired });
  log.log('info', `Completing template ${left.vm.vmid}, which an earlier run left.`);
  return runBuild(deps, job, { current: recordedUnfinished(left), retired });
}

async function runBuild(deps: Deps, { desired, secrets }: Job, versions: Versions): Promise<Built> {
  const { template, timeouts } = desired;
  const { address } = template.vm;
  const work = {
    desired: { ...EMPTY_STACK, templates: [template] },
    recorded: recordedVersions(template, versions),
    secrets: new Map([[address, secrets]]),
    timeouts,
  };
  const { problems, state } = await runEngine(deps, work, TEMPLATE, (session) => session.plan({ chooseIds: false }));
  const built = versionsIn(state, address);
  if (problems.length === 0 && built.current) await untilListed(deps, built.current, template.name);
  return { ...built, problems };
}

const LISTED_MS = 60_000;
const LOOK_MS = 1_000;
/** Each worker of the server caches what it has read for up to two seconds, so the old list may come back once more. */
const WORKERS_MS = 2_500;

/** The list of the cluster lags by some seconds, and a clone by name looks for the template there. */
async function untilListed({ work, clock, signal, log }: Deps, built: VmRecord, name: string): Promise<void> {
  const deadline = clock.ticks() + LISTED_MS;
  while (!isListed(await work.cluster.resources({ type: 'vm' }, { signal }), built, name)) {
    if (clock.ticks() >= deadline) {
      log.log('warn', `The cluster does not list template ${built.vmid} as "${name}" yet.`);
      return;
    }
    await clock.sleep(LOOK_MS, signal);
  }
  await clock.sleep(WORKERS_MS, signal);
}

type Rows = Awaited<ReturnType<Pve['cluster']['resources']>>;

/** Under its name, and no other: the earlier version no longer has the name. */
function isListed(rows: Rows, { vmid, node }: VmRecord, name: string): boolean {
  const named = rows.filter((row) => row.name === name && row.node === node);
  return named.length === 1 && named[0]?.vmid === vmid && named[0].template === true;
}

interface Complete extends Omit<Built, 'problems'> {
  readonly current: VmRecord;
  readonly recipe: string;
}

function finished(
  { planned, config }: Planned<DesiredTemplate>,
  { current, recipe, retired, owner }: Complete,
): Applied<TemplatePrivate> {
  const { node, vmid, uuid, lastApplied } = current;
  const computed: CtyObject = { id: `${node}/${vmid}`, vmid, uuid: uuid ?? null, recipe };
  const kept = {
    managed: managedPaths(USER_ATTRIBUTES, config),
    applied: lastApplied,
    retired: retired.filter((version) => version.vmid !== vmid),
    ...(owner !== undefined && { owner }),
  };
  return { now: { state: filledIn(TEMPLATE_SCHEMA.attributes, planned, computed), kept }, diagnostics: [] };
}
