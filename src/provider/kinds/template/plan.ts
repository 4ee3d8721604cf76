/**
 * What a plan says about a template: its attributes after apply, whether a new version is built, and whether the engine
 * could do it.
 */
import type { Observed } from '../../../engine/index.ts';
import { secretFieldsOf } from '../../../kinds/vm/fields/secrets.ts';
import { allUnknown, changeAt, picked, valueIn } from '../../adapter/attributes.ts';
import type { Deps } from '../../adapter/deps.ts';
import { EMPTY_STACK, stateOf } from '../../adapter/engine-run.ts';
import { type Configured, type Held, isRefused, type PlanDraft, type PlanFindings } from '../../adapter/kind.ts';
import { destroyFindings, findingsOf, planWithEngine } from '../../adapter/plan-checks.ts';
import { attribute } from '../../cty/path.ts';
import { type CtyObject, type CtyValue, isObject, objectOf, UNKNOWN } from '../../cty/value.ts';
import type { ProviderDiagnostic } from '../../provider.ts';
import { equalValues } from '../../values/equal.ts';
import { isOpen } from '../vm/desired.ts';
import { type KnownVms, listVms } from '../vm/leftovers.ts';
import { plannedFor } from '../vm/plan.ts';
import { NO_SECRETS, secretsOf, type VmSecrets } from '../vm/secrets.ts';
import {
  COMPUTED_ATTRIBUTES,
  type DesiredTemplate,
  desiredTemplate,
  knownRecipe,
  TEMPLATE,
  USER_ATTRIBUTES,
} from './desired.ts';
import {
  findLeftover,
  NOTHING_KEPT,
  recordedTemplate,
  recordedUnfinished,
  recordedVersions,
  type TemplatePrivate,
  type Versions,
  versionOf,
} from './versions.ts';

export async function planTemplateCreate(
  known: KnownVms,
  deps: Deps | undefined,
  { config, desired }: Configured<DesiredTemplate>,
): Promise<PlanDraft> {
  const recipe = await plannedRecipe(deps, config, desired);
  const attributes = plannedFor(USER_ATTRIBUTES, config, { state: null, kept: NOTHING_KEPT });
  const vmid = attributes.vmid ?? UNKNOWN;
  announce(known, desired);
  return {
    planned: objectOf(Object.entries({ ...attributes, ...newVersion(recipe.known), vmid })),
    check: (server) => buildFindings(known, server, desired, recipe, { current: undefined, retired: [] }),
  };
}

export async function planTemplateUpdate(
  known: KnownVms,
  deps: Deps | undefined,
  { config, desired }: Configured<DesiredTemplate>,
  prior: Held<TemplatePrivate>,
): Promise<PlanDraft> {
  const { state, kept } = prior;
  const recipe = await plannedRecipe(deps, config, desired);
  const attributes = plannedFor(USER_ATTRIBUTES, config, prior);
  const isFixed = (config.vmid ?? null) !== null;
  const settled: CtyObject = { ...attributes, vmid: valueIn(isFixed ? attributes : state, 'vmid') };
  const isBuilt = isOutdated(prior, settled, recipe.known);
  const planned = objectOf(
    Object.entries({
      ...settled,
      ...picked(COMPUTED_ATTRIBUTES, state),
      ...(isBuilt && { ...newVersion(recipe.known), ...(!isFixed && { vmid: UNKNOWN }) }),
      ...(!isBuilt && { recipe: recipe.known ?? UNKNOWN }),
    }),
  );
  const moved = REPLACING.filter((name) => changeAt([name], state, settled));
  const replaced = moved.length > 0 ? moved : isBuilt && isFixed ? ['recipe'] : [];
  if (replaced.length > 0) {
    known.noteLeaving(state);
    announce(known, desired);
    const replace = replaced.map((name) => [attribute(name)]);
    return { planned, replace, notes: [replacementNote(replaced, state, kept)] };
  }
  if (!isBuilt) return { planned };
  announce(known, desired);
  const current = kept.owner === undefined ? recordedTemplate(state, kept) : undefined;
  return {
    planned,
    check: (server) => buildFindings(known, server, desired, recipe, { current, retired: kept.retired }),
  };
}

interface PlannedRecipe {
  readonly secrets: VmSecrets;
  /** Undefined while it is not known. */
  readonly known: string | undefined;
}

async function plannedRecipe(
  deps: Deps | undefined,
  config: CtyObject,
  desired: DesiredTemplate,
): Promise<PlannedRecipe> {
  const { vm } = desired.template;
  const secrets = deps ? await secretsOf(deps, config, vm) : NO_SECRETS;
  const lacksSecret = !deps && secretFieldsOf(vm.fields).length > 0;
  const isOpenRecipe = lacksSecret || isRefused(desired);
  return { secrets, known: isOpenRecipe ? undefined : knownRecipe(desired, secrets) };
}

/** VMs that are planned after this template may clone it, though it does not exist yet. */
function announce(known: KnownVms, { template, unknown }: DesiredTemplate): void {
  if (!unknown.includes('name')) known.noteTemplate(template.name, template.vm.fields.vmid);
}

/** The computed attributes of a version that is to be built. */
function newVersion(recipe: string | undefined): CtyObject {
  return { ...allUnknown(COMPUTED_ATTRIBUTES), recipe: recipe ?? UNKNOWN };
}

/** Whether the existing version is no longer the one that the configuration describes. */
export function isOutdated(
  { state, kept }: Held<TemplatePrivate>,
  planned: CtyObject,
  recipe: string | undefined,
): boolean {
  if (kept.changed) return true;
  const before = valueIn(state, 'recipe');
  // An imported template has no recipe: its readable configuration decides.
  if (before === null) return Object.keys(USER_ATTRIBUTES).some((name) => contradicts(planned[name], state[name]));
  return before !== recipe;
}

/** The configuration sets something, and the template has another value. */
function contradicts(desired: CtyValue | undefined, present: CtyValue | undefined): boolean {
  // A device that the template does not have.
  if (present === undefined) return desired !== undefined && desired !== null;
  if (desired === undefined || desired === null || present === null || equalValues(desired, present)) return false;
  if (desired === UNKNOWN || !isObject(desired) || !isObject(present)) return true;
  return Object.keys(desired).some((name) => contradicts(desired[name], present[name]));
}

const REPLACING = ['name', 'node', 'vmid'] as const;

function replacementNote(names: readonly string[], prior: CtyObject, { owner }: TemplatePrivate): ProviderDiagnostic {
  const why =
    names[0] === 'recipe'
      ? 'Its recipe changes, and its vmid is fixed, so a new version cannot exist beside it'
      : `${names.join(', ')} changes`;
  const fate =
    owner === undefined
      ? `Template ${String(prior.id)} is destroyed`
      : `Template ${String(prior.id)} stays with ${owner}`;
  return {
    severity: 'warning',
    summary: 'This template will be replaced',
    detail: `${why}. ${fate}, and a new one is built; this fails while linked clones use the old one. Without vmid, or with vmids, a changed recipe builds the new version first.`,
    path: [attribute(names[0] ?? 'name')],
  };
}

export function planTemplateDestroy(known: KnownVms, { state, kept }: Held<TemplatePrivate>): PlanFindings {
  if (kept.owner !== undefined) return {};
  known.noteLeaving(state);
  const { template, timeouts } = desiredTemplate(state);
  const recorded = recordedVersions(template, { current: recordedTemplate(state, kept), retired: [] });
  const work = { desired: EMPTY_STACK, recorded, secrets: new Map(), timeouts };
  return { check: (deps) => destroyFindings(deps, work, TEMPLATE, { running: 'stop', all: true }) };
}

/** The engine's problems with building it, if known. */
async function buildFindings(
  known: KnownVms,
  deps: Deps,
  desired: DesiredTemplate,
  recipe: PlannedRecipe,
  { current, retired }: Versions,
): Promise<ProviderDiagnostic[]> {
  const { template, timeouts, unknown } = desired;
  if (isRefused(desired) || isOpen(desired, ['name', 'node', 'from', 'from.vm'])) return [];
  const { looks, signal } = deps;
  const earlier = [...retired, ...(current ? versionOf(current) : [])];
  const listed = (await listVms(looks, signal)).filter(({ vmid }) => !known.isKnown(vmid));
  const query = { template, recipe: recipe.known ?? '', known: new Set(earlier.map(({ vmid }) => vmid)) };
  const left = await findLeftover(looks, listed, query, signal);
  if (left?.kind === 'finished') return [];
  const notes = left ? [leftoverNote(template.name, left.vm)] : [];
  // While a task works on it, nothing tells how far it has come; apply waits for the task.
  if (left?.vm.lock !== undefined) return notes;
  const versions = left ? { current: recordedUnfinished(left), retired: earlier } : { current, retired };
  const work = {
    desired: { ...EMPTY_STACK, templates: [template] },
    recorded: recordedVersions(template, versions),
    secrets: new Map([[template.vm.address, recipe.secrets]]),
    timeouts,
  };
  const own = new Set(Object.values(stateOf(deps, work).vms).map(({ vmid }) => vmid));
  const result = await known.onceFree({ name: template.name, vmid: template.vm.fields.vmid }, deps, () =>
    planWithEngine(deps, work, (observed) => expected(known, observed, template.name, own)),
  );
  return [...notes, ...findingsOf(result, TEMPLATE, { unknown })];
}

/** The host destroys a template that it knows, and that is not this one, before it creates this one. */
function expected(known: KnownVms, observed: Observed, name: string, own: ReadonlySet<number>): Observed {
  const isThere = (vmid: number) => own.has(vmid) || !known.isKnown(vmid);
  return {
    ...observed,
    takenIds: new Set([...observed.takenIds].filter((vmid) => !known.willBeFree(vmid, name))),
    templates: new Map(
      [...observed.templates].map(([key, candidates]) => [
        key,
        key === name ? candidates.filter(({ vmid }) => isThere(vmid)) : candidates,
      ]),
    ),
  };
}

function leftoverNote(name: string, { vmid, node }: { vmid: number; node: string }): ProviderDiagnostic {
  return {
    severity: 'warning',
    summary: 'An earlier run left this template unfinished',
    detail: `VM ${vmid} on ${node} was being built as "${name}". Apply completes it; it does not build another one.`,
  };
}
