/**
 * Terraform's part, in one process and on virtual time: it keeps a state, calls a resource the way the host does, and
 * refuses what the host would refuse. What it accepts must still be tested with a real host.
 */
import { type CtyObject, type CtyValue, isObject, isWhollyKnown, UNKNOWN } from '../../../src/provider/cty/value.ts';
import type { PrivateState, ProviderDiagnostic, ResourceType } from '../../../src/provider/provider.ts';
import type { Attribute, Attributes } from '../../../src/provider/schema/model.ts';
import { equalValues } from '../../../src/provider/values/equal.ts';
import { nothingOf } from '../../../src/provider/values/from-fields.ts';

export type Config = { readonly [name: string]: unknown };

export interface Instance {
  readonly state: CtyObject;
  readonly private: PrivateState;
}

export interface Outcome {
  /** What the plan was: nothing, or which attributes change. */
  readonly action: 'none' | 'create' | 'update' | 'replace' | 'delete';
  readonly changed: readonly string[];
  readonly diagnostics: readonly ProviderDiagnostic[];
}

export class ToyHost {
  readonly resource: ResourceType;
  instance: Instance | undefined;
  /** Given to every call; a test that cancels calls puts its own here. */
  call: AbortSignal = new AbortController().signal;

  constructor(resource: ResourceType) {
    this.resource = resource;
  }

  get state(): CtyObject {
    if (!this.instance) throw new Error('Nothing is in the state.');
    return this.instance.state;
  }

  async validate(config: Config, writeOnlyAttributes = true): Promise<readonly ProviderDiagnostic[]> {
    return this.resource.validate(this.#complete(config), { writeOnlyAttributes });
  }

  async refresh(): Promise<readonly ProviderDiagnostic[]> {
    if (!this.instance) return [];
    const read = await this.resource.read(this.instance, this.call);
    if (hasErrors(read.diagnostics)) return read.diagnostics;
    this.instance = read.state ? { state: read.state, private: read.private } : undefined;
    if (read.state && !isWhollyKnown(read.state)) throw new Error('A state that was read holds something unknown.');
    return read.diagnostics;
  }

  /** Refreshes and plans; a config of null plans the removal. */
  async plan(config: Config | null): Promise<Outcome> {
    const seen = await this.refresh();
    if (hasErrors(seen)) return { action: 'none', changed: [], diagnostics: seen };
    const { outcome } = await this.#plan(config);
    return outcome;
  }

  /** Plans and, where something is to be done, applies. */
  async apply(config: Config | null): Promise<Outcome> {
    const seen = await this.refresh();
    if (hasErrors(seen)) return { action: 'none', changed: [], diagnostics: seen };
    const { outcome, planned, private: bytes } = await this.#plan(config);
    if (hasErrors(outcome.diagnostics) || outcome.action === 'none') return outcome;
    if (outcome.action === 'replace') {
      // The host plans the new object with the private state of the old one, and destroys the old one with the result.
      const complete = config && this.#complete(config);
      const beside = { prior: null, proposed: complete, config: complete, private: bytes };
      const { private: handedOn } = await this.resource.plan(beside, this.call);
      this.instance = this.instance && { ...this.instance, private: handedOn };
      await this.#applyOne(null, null, undefined);
      const again = await this.#plan(config);
      return this.#applyAndTell(config, again.planned, undefined, outcome);
    }
    return this.#applyAndTell(config, planned, bytes, outcome);
  }

  async import(id: string): Promise<readonly ProviderDiagnostic[]> {
    const imported = await this.resource.import(id, this.call);
    if (!imported.state) return imported.diagnostics;
    this.instance = { state: imported.state, private: imported.private };
    return [...imported.diagnostics, ...(await this.refresh())];
  }

  async #applyAndTell(
    config: Config | null,
    planned: CtyObject | null,
    bytes: PrivateState,
    outcome: Outcome,
  ): Promise<Outcome> {
    const diagnostics = await this.#applyOne(config, planned, bytes);
    return { ...outcome, diagnostics: [...outcome.diagnostics, ...diagnostics] };
  }

  async #applyOne(config: Config | null, planned: CtyObject | null, bytes: PrivateState) {
    const prior = this.instance?.state ?? null;
    const request = {
      prior,
      planned,
      config: config && this.#complete(config),
      private: bytes ?? this.instance?.private,
    };
    const result = await this.resource.apply(request, this.call);
    if (result.state && !isWhollyKnown(result.state)) throw new Error('A state after apply holds something unknown.');
    if (result.state && planned && !hasErrors(result.diagnostics)) assertAsPlanned(planned, result.state);
    if (result.state && !prior && hasErrors(result.diagnostics)) {
      throw new Error('A creation failed and has a state: the host would destroy the VM.');
    }
    this.instance = result.state ? { state: result.state, private: result.private } : undefined;
    return result.diagnostics;
  }

  async #plan(config: Config | null) {
    const prior = this.instance?.state ?? null;
    const complete = config && this.#complete(config);
    const { attributes } = this.resource.schema;
    const proposed = complete && (prior ? merged(attributes, complete, prior) : complete);
    const request = { prior, proposed, config: complete, private: this.instance?.private };
    const response = await this.resource.plan(request, this.call);
    if (hasErrors(response.diagnostics)) {
      return { planned: null, private: undefined, outcome: outcomeOf('none', [], response.diagnostics) };
    }
    if (complete && response.planned) assertValidPlan(attributes, complete, prior, response.planned, '');
    const again = await this.resource.plan(request, this.call);
    if (!equalValues(again.planned, response.planned)) throw new Error('Two plans of the same thing differ.');
    const { planned, diagnostics } = response;
    if (!complete) return { planned: null, private: response.private, outcome: outcomeOf('delete', [], diagnostics) };
    if (!prior) return { planned, private: response.private, outcome: outcomeOf('create', [], diagnostics) };
    const changed = planned ? changedPaths(planned, prior) : [];
    const action = response.requiresReplace.length > 0 ? 'replace' : changed.length > 0 ? 'update' : 'none';
    return { planned, private: response.private, outcome: outcomeOf(action, changed, diagnostics) };
  }

  #complete(config: Config): CtyObject {
    return complete(this.resource.schema.attributes, config);
  }
}

/** What the host sends of a configuration: every attribute, those that were not written as null. */
export function complete(attributes: Attributes, config: Config): CtyObject {
  const entries = Object.entries(config).map(([name, value]): [string, CtyValue] => {
    const attribute = attributes[name];
    if (!attribute) throw new Error(`There is no attribute "${name}".`);
    return [name, completeValue(attribute, value)];
  });
  return Object.assign(Object.create(null), nothingOf(attributes), Object.fromEntries(entries));
}

function completeValue({ type }: Attribute, value: unknown): CtyValue {
  if (value === null || value === UNKNOWN || type.kind === 'value') return value as CtyValue;
  if (type.nesting === 'single') return complete(type.attributes, value as Config);
  if (Array.isArray(value)) return value.map((each) => complete(type.attributes, each));
  const items = Object.entries(value as Config).map(([key, each]) => [key, complete(type.attributes, each as Config)]);
  return Object.assign(Object.create(null), Object.fromEntries(items));
}

/** The host's merge: the configuration where it says something, else what stands, where the server may say it. */
function merged(attributes: Attributes, config: CtyObject, prior: CtyObject): CtyObject {
  const entries = Object.entries(attributes).map(([name, attribute]): [string, CtyValue] => {
    const desired: CtyValue = config[name] ?? null;
    const before: CtyValue = prior[name] ?? null;
    if (desired === null) return [name, attribute.given.endsWith('computed') ? before : null];
    const { type } = attribute;
    if (type.kind === 'value' || !isObject(desired)) return [name, desired];
    const inner = (each: CtyObject, old: CtyValue) => (isObject(old) ? merged(type.attributes, each, old) : each);
    if (type.nesting === 'single') return [name, inner(desired, before)];
    const old = isObject(before) ? before : {};
    const items = Object.entries(desired).map(([key, each]) => [
      key,
      isObject(each) ? inner(each, old[key] ?? null) : each,
    ]);
    return [name, Object.assign(Object.create(null), Object.fromEntries(items))];
  });
  return Object.assign(Object.create(null), Object.fromEntries(entries));
}

/** The rules by which the host accepts a plan. */
function assertValidPlan(
  attributes: Attributes,
  config: CtyObject,
  prior: CtyObject | null,
  planned: CtyObject,
  path: string,
): void {
  for (const [name, attribute] of Object.entries(attributes)) {
    const at = path === '' ? name : `${path}.${name}`;
    assertValidValue(attribute, config[name] ?? null, prior?.[name] ?? null, planned[name] ?? null, at);
  }
}

function assertValidValue(
  attribute: Attribute,
  config: CtyValue,
  prior: CtyValue,
  planned: CtyValue,
  at: string,
): void {
  const { type, given, writeOnly } = attribute;
  if (writeOnly) {
    if (planned !== null) throw new Error(`${at}: a write-only value is in the plan.`);
    return;
  }
  if (equalValues(planned, config)) return;
  if (equalValues(planned, prior) && prior !== null && config !== null) return;
  if (given === 'computed' || (config === null && given === 'optional-computed')) return;
  if (config === null) throw new Error(`${at}: planned, but neither configured nor computed.`);
  if (type.kind !== 'nested' || !isObject(config) || !isObject(planned)) {
    throw new Error(`${at}: planned ${String(planned)}, configured ${String(config)}, before ${String(prior)}.`);
  }
  const before = isObject(prior) ? prior : undefined;
  if (type.nesting === 'single') {
    assertValidPlan(type.attributes, config, before ?? null, planned, at);
    return;
  }
  const keys = new Set([...Object.keys(config), ...Object.keys(planned)]);
  for (const key of keys) {
    const desired: CtyValue | undefined = config[key];
    const got: CtyValue | undefined = planned[key];
    const old: CtyValue | undefined = before?.[key];
    if (!isObject(desired) || !isObject(got)) throw new Error(`${at}["${key}"] is not on both sides.`);
    assertValidPlan(type.attributes, desired, isObject(old) ? old : null, got, `${at}["${key}"]`);
  }
}

/** What was known in the plan is so afterwards. */
function assertAsPlanned(planned: CtyValue, state: CtyValue, at = ''): void {
  if (planned === UNKNOWN || equalValues(planned, state)) return;
  if (isObject(planned) && isObject(state)) {
    for (const name of new Set([...Object.keys(planned), ...Object.keys(state)])) {
      assertAsPlanned(planned[name] ?? null, state[name] ?? null, at === '' ? name : `${at}.${name}`);
    }
    return;
  }
  throw new Error(`${at}: planned ${JSON.stringify(planned)}, but became ${JSON.stringify(state)}.`);
}

/** Dotted paths of leaves that differ. */
function changedPaths(planned: CtyValue, prior: CtyValue, at = ''): string[] {
  if (equalValues(planned, prior)) return [];
  if (!isObject(planned) || !isObject(prior)) return [at];
  const names = new Set([...Object.keys(planned), ...Object.keys(prior)]);
  return [...names].flatMap((name) =>
    changedPaths(planned[name] ?? null, prior[name] ?? null, at === '' ? name : `${at}.${name}`),
  );
}

export function hasErrors(diagnostics: readonly ProviderDiagnostic[]): boolean {
  return diagnostics.some(({ severity }) => severity === 'error');
}

function outcomeOf(
  action: Outcome['action'],
  changed: readonly string[],
  diagnostics: readonly ProviderDiagnostic[],
): Outcome {
  return { action, changed, diagnostics };
}
