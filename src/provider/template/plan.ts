/** `PlanResourceChange` of a template: what it will be, whether a new version is built for it, and whether that can work. */

import { observe } from '../../engine/observe.ts';
import { planDestroy } from '../../engine/plan.ts';
import type { Observed } from '../../kinds/observed.ts';
import { secretFieldsOf } from '../../kinds/vm/fields/secrets.ts';
import { attribute } from '../cty/path.ts';
import { type CtyObject, type CtyValue, objectOf, UNKNOWN } from '../cty/value.ts';
import type { PlanRequest, PlanResponse, ProviderDiagnostic } from '../provider.ts';
import { checked, isPostponed, planWithEngine } from '../run/checks.ts';
import { problemOf } from '../run/outcome.ts';
import { stackOf } from '../run/session.ts';
import type { Surroundings } from '../surroundings.ts';
import { diagnosticAt } from '../values/diagnostics.ts';
import { equalValues } from '../values/equal.ts';
import { plannedAttributes } from '../values/planned.ts';
import type { VmContext } from '../vm/context.ts';
import { listVms } from '../vm/incomplete.ts';
import type { VmSecrets } from '../vm/secrets.ts';
import { secretsOf } from '../vm/secrets.ts';
import type { Job } from './build.ts';
import { findLeftover, memoryOfLeftover } from './leftover.ts';
import { memoryOfState, stateOf, versionOf } from './memory.ts';
import { isOutdated } from './outdated.ts';
import { readPrivate, type TemplatePrivate } from './private-state.ts';
import { COMPUTED_ATTRIBUTES, TEMPLATE, TEMPLATE_SCHEMA, USER_ATTRIBUTES } from './schema.ts';
import { isOpen, knownRecipe, type WantedTemplate, wantedTemplate } from './wanted-template.ts';

export async function planTemplateChange(context: VmContext, request: PlanRequest): Promise<PlanResponse> {
  const { prior, config } = request;
  const kept = readPrivate(request.private);
  if (prior) context.remember(prior);
  if (!config || !request.proposed) return planRemoval(context, request, kept);
  const managed = new Set(kept.managed);
  const attributes = plannedAttributes({
    attributes: USER_ATTRIBUTES,
    config,
    prior,
    wasManaged: (path) => managed.has(path),
  });
  const wanted = wantedTemplate(config);
  const { surroundings } = context;
  const secrets: VmSecrets = surroundings ? await secretsOf(surroundings, config, wanted.template.vm) : new Map();
  const needsSecret = !surroundings && secretFieldsOf(wanted.template.vm.fields).length > 0;
  const recipe = needsSecret || wanted.problems.length > 0 ? undefined : knownRecipe(wanted, secrets);
  const wish = { context, request, attributes, wanted, secrets, recipe, kept };
  return prior ? planUpdate(wish, prior, config) : planCreation(wish);
}

interface Wish {
  readonly context: VmContext;
  readonly request: PlanRequest;
  readonly attributes: CtyObject;
  readonly wanted: WantedTemplate;
  readonly secrets: VmSecrets;
  /** Undefined while it is not known. */
  readonly recipe: string | undefined;
  readonly kept: TemplatePrivate;
}

async function planCreation(wish: Wish): Promise<PlanResponse> {
  const { context, attributes, wanted, recipe } = wish;
  announce(wish);
  const planned = objectOf(Object.entries({ ...attributes, ...made(recipe), vmid: attributes.vmid ?? UNKNOWN }));
  const diagnostics = await checked(context.surroundings, TEMPLATE_SCHEMA.attributes, (surroundings) =>
    findings(surroundings, wish, { wanted, current: undefined, retired: [] }),
  );
  return { planned, requiresReplace: [], private: undefined, diagnostics };
}

/** VMs that are planned after this one may clone it, though it is not there yet. */
function announce({ context, wanted: { template, unknown } }: Wish): void {
  if (unknown.includes('name')) return;
  context.planTemplate(template.name, template.vm.fields.vmid);
}

/** What is known of a version that is to be made. */
function made(recipe: string | undefined): CtyObject {
  const unknown = Object.keys(COMPUTED_ATTRIBUTES).map((name): [string, CtyValue] => [name, UNKNOWN]);
  return objectOf([...unknown, ['recipe', recipe ?? UNKNOWN]]);
}

const PLACES = ['name', 'node', 'vmid'] as const;

async function planUpdate(wish: Wish, prior: CtyObject, config: CtyObject): Promise<PlanResponse> {
  const { context, request, attributes, wanted, recipe, kept } = wish;
  const isFixed = (config.vmid ?? null) !== null;
  const settled: CtyObject = { ...attributes, vmid: isFixed ? (attributes.vmid ?? null) : (prior.vmid ?? null) };
  const isBuilt = isOutdated({ prior, planned: settled, kept, recipe });
  const standing = Object.keys(COMPUTED_ATTRIBUTES).map((name): [string, CtyValue] => [name, prior[name] ?? null]);
  const planned = objectOf(
    Object.entries({
      ...settled,
      ...objectOf(standing),
      ...(isBuilt && { ...made(recipe), ...(!isFixed && { vmid: UNKNOWN }) }),
      ...(!isBuilt && { recipe: recipe ?? UNKNOWN }),
    }),
  );
  const moved = PLACES.filter((name) => isOtherwise(settled[name], prior[name]));
  const replaced = moved.length > 0 ? moved : isBuilt && isFixed ? ['recipe'] : [];
  const response = { planned, private: request.private, requiresReplace: replaced.map((name) => [attribute(name)]) };
  if (replaced.length > 0) {
    context.doom(prior);
    announce(wish);
    return { ...response, diagnostics: [replacementNote(replaced, prior, kept)] };
  }
  if (!isBuilt) {
    const isSame = Object.keys(planned).every((name) => equalValues(planned[name] ?? null, prior[name] ?? null));
    return { ...response, planned: isSame ? prior : planned, diagnostics: [] };
  }
  announce(wish);
  const current = kept.owner === undefined ? memoryOfState(prior, kept) : undefined;
  const diagnostics = await checked(context.surroundings, TEMPLATE_SCHEMA.attributes, (surroundings) =>
    findings(surroundings, wish, { wanted, current, retired: kept.retired }),
  );
  return { ...response, diagnostics };
}

/** What was never said before — of a template that was taken over — is no change. */
function isOtherwise(after: CtyValue | undefined, before: CtyValue | undefined): boolean {
  return (before ?? null) !== null && (after ?? null) !== null && !equalValues(after ?? null, before ?? null);
}

function replacementNote(names: readonly string[], prior: CtyObject, { owner }: TemplatePrivate): ProviderDiagnostic {
  const why =
    names[0] === 'recipe'
      ? 'Its recipe changes, and its vmid is fixed, so that no new version has room beside it'
      : `${names.join(', ')} changes`;
  const fate =
    owner === undefined
      ? `Template ${String(prior.id)} is destroyed`
      : `Template ${String(prior.id)} is left to ${owner}`;
  return {
    severity: 'warning',
    summary: 'This template will be replaced',
    detail: `${why}. ${fate}, and a new one is made; linked clones of the old one prevent that. Without vmid, or with vmids, a changed recipe builds the new version first.`,
    path: [attribute(names[0] ?? 'name')],
  };
}

async function planRemoval(context: VmContext, request: PlanRequest, kept: TemplatePrivate): Promise<PlanResponse> {
  const { prior } = request;
  const response = { planned: null, requiresReplace: [], private: request.private };
  if (!prior || kept.owner !== undefined) return { ...response, diagnostics: [] };
  context.doom(prior);
  const { template, timeouts } = wantedTemplate(prior);
  const diagnostics = await checked(context.surroundings, TEMPLATE_SCHEMA.attributes, async (known) => {
    const { looks, signal, clock } = known;
    const stack = stackOf(known, {}, timeouts);
    const { name, vm } = template;
    const state = stateOf(known, { address: vm.address, name, current: memoryOfState(prior, kept), retired: [] });
    const observed = await observe({ pve: looks, stack, state, signal });
    const result = planDestroy({ stack, state, observed, now: clock.now(), running: 'stop', all: true });
    return result.ok ? [] : result.problems.map((problem) => problemOf(problem, TEMPLATE));
  });
  return { ...response, diagnostics };
}

/** What the engine would say to building it, as far as it is known. */
async function findings(
  surroundings: Surroundings,
  { context, secrets, recipe }: Wish,
  { wanted, current, retired }: Pick<Job, 'wanted' | 'current' | 'retired'>,
): Promise<ProviderDiagnostic[]> {
  if (wanted.problems.length > 0 || isOpen(wanted, ['name', 'node', 'from', 'from.vm'])) return [];
  const { template, timeouts } = wanted;
  const { looks, signal } = surroundings;
  const earlier = [...retired, ...(current ? versionOf(current) : [])];
  const known = new Set(earlier.map(({ vmid }) => vmid));
  const listed = (await listVms(looks, signal)).filter(({ vmid }) => !context.isKnown(vmid));
  const left = await findLeftover(surroundings, looks, listed, { template, recipe: recipe ?? '', known });
  if (left?.kind === 'finished') return [];
  const notes = left ? [leftoverNote(template.name, left.vm)] : [];
  // How far it has come cannot be seen while a task works on it; apply waits for that.
  if (left?.vm.lock !== undefined) return notes;
  const versions = left ? { current: memoryOfLeftover(left), retired: earlier } : { current, retired };
  const { address } = template.vm;
  const stack = stackOf(surroundings, { templates: [template] }, timeouts);
  const state = stateOf(surroundings, { ...versions, address, name: template.name });
  const own = new Set(Object.values(state.vms).map(({ vmid }) => vmid));
  const run = { stack, state, secrets: new Map([[address, secrets]]) };
  const result = await planWithEngine(surroundings, run, (observed) => expected(context, observed, template.name, own));
  if (!result.ok) {
    const problems = result.problems.filter((problem) => !isPostponed(problem, wanted.unknown));
    return [...notes, ...problems.map((problem) => problemOf(problem, TEMPLATE))];
  }
  return [...notes, ...result.plan.warnings.map((warning) => diagnosticAt(warning, TEMPLATE.attributes))];
}

/** One that the host knows, and that is not this one, goes before this one comes. */
function expected(context: VmContext, observed: Observed, name: string, own: ReadonlySet<number>): Observed {
  const isThere = (vmid: number) => own.has(vmid) || !context.isKnown(vmid);
  return {
    ...observed,
    takenIds: new Set([...observed.takenIds].filter((vmid) => !context.willBeFree(vmid, name))),
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
    detail: `VM ${vmid} on ${node} was being made as "${name}". It will be completed, not made again.`,
  };
}
