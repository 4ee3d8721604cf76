/**
 * What a plan shows for the attributes that a user may set. An attribute is managed if and only if the configuration sets it.
 * Its value is planned, in the spelling of the state where both mean the same. An attribute that left the configuration is
 * released, and one that was never in it stays as observed.
 */
import { type CtyObject, type CtyValue, isObject, objectOf, UNKNOWN } from '../../../cty/value.ts';
import type { Attribute, Attributes, AttributeType } from '../../../schema/model.ts';
import { equalValues } from '../../../values/equal.ts';
import { sameMeaning } from './same.ts';

export interface PlannedInput {
  readonly attributes: Attributes;
  readonly config: CtyObject;
  /** Null: to be created. */
  readonly prior: CtyObject | null;
  /** Whether an earlier configuration set this: `disks.scsi0.size`. */
  readonly wasManaged: (path: string) => boolean;
}

/** Attributes that only the server sets are unknown in a new resource, and otherwise stay as they were. */
export function plannedAttributes({ attributes, config, prior, wasManaged }: PlannedInput): CtyObject {
  return new Planning(wasManaged).object(attributes, config, prior, '');
}

/** The dotted path of every leaf that a configuration sets, unknown or not; for a group without leaves, its own. */
export function managedPaths(attributes: Attributes, config: CtyObject, path = ''): string[] {
  return Object.entries(attributes).flatMap(([name, { type }]) =>
    pathsIn(type, config[name] ?? null, below(path, name)),
  );
}

function pathsIn(type: AttributeType, value: CtyValue, path: string): string[] {
  if (value === null) return [];
  if (type.kind === 'value' || !isObject(value)) return [path];
  const inside =
    type.nesting === 'single'
      ? managedPaths(type.attributes, value, path)
      : Object.entries(value).flatMap(([key, item]) => pathsIn({ ...type, nesting: 'single' }, item, below(path, key)));
  return inside.length > 0 ? inside : [path];
}

class Planning {
  readonly #wasManaged: (path: string) => boolean;

  constructor(wasManaged: (path: string) => boolean) {
    this.#wasManaged = wasManaged;
  }

  object(attributes: Attributes, config: CtyObject, prior: CtyObject | null, path: string): CtyObject {
    return objectOf(
      Object.entries(attributes).map(([name, attribute]) => {
        const before = prior === null ? undefined : (prior[name] ?? null);
        return [name, this.#attribute(attribute, config[name] ?? null, before, below(path, name))];
      }),
    );
  }

  /** `before` is undefined in a new resource. */
  #attribute(attribute: Attribute, config: CtyValue, before: CtyValue | undefined, path: string): CtyValue {
    if (attribute.writeOnly) return null;
    if (attribute.given === 'computed') return before === undefined ? UNKNOWN : before;
    if (config === UNKNOWN) return UNKNOWN;
    const prior = before ?? null;
    if (config !== null) return this.#configured(attribute.type, config, prior, path);
    return attribute.given === 'optional-computed' ? this.#left(attribute.type, prior, path) : null;
  }

  #configured(type: AttributeType, config: CtyValue, prior: CtyValue, path: string): CtyValue {
    if (type.kind === 'value') return sameMeaning(path, config, prior) ? prior : config;
    const { attributes, nesting } = type;
    const element = (each: CtyValue, before: CtyValue | undefined, at: string) =>
      isObject(each) ? this.object(attributes, each, isObject(before) ? before : null, at) : each;
    if (nesting === 'single') return element(config, prior, path);
    if (Array.isArray(config)) {
      const earlier: readonly CtyValue[] = Array.isArray(prior) ? prior : [];
      return config.map((each: CtyValue, place) => element(each, earlier[place], below(path, String(place))));
    }
    if (!isObject(config)) return config;
    const earlier = isObject(prior) ? prior : undefined;
    const planned = objectOf(
      Object.entries(config).map(([key, each]) => [key, element(each, earlier?.[key], below(path, key))]),
    );
    return earlier && this.#isAllOf(type, planned, earlier, path) ? earlier : planned;
  }

  /**
   * A map is planned with the configuration's keys or exactly as it is in the state. The latter keeps observed devices that
   * the configuration does not mention, as long as nothing that it mentions changes.
   */
  #isAllOf(type: AttributeType, planned: CtyObject, prior: CtyObject, path: string): boolean {
    const isThere = ([key, each]: readonly [string, CtyValue]) =>
      Object.hasOwn(prior, key) && equalValues(each, prior[key] ?? null);
    const others = Object.entries(prior).filter(([key]) => !Object.hasOwn(planned, key));
    return (
      Object.entries(planned).every(isThere) &&
      others.every(([key, each]) => equalValues(this.#leftElement(type, each, below(path, key)), each))
    );
  }

  /** What remains of a value that the configuration does not mention. */
  #left(type: AttributeType, prior: CtyValue, path: string): CtyValue {
    if (prior === null || prior === UNKNOWN) return prior;
    if (type.kind === 'value') return this.#isManagedValue(prior, path) ? null : prior;
    if (type.nesting === 'single' || !isObject(prior)) return this.#leftElement(type, prior, path);
    const kept = Object.entries(prior)
      .map(([key, each]) => [key, this.#leftElement(type, each, below(path, key))] as const)
      .filter(([, each]) => each !== null);
    if (kept.length === 0 && (Object.keys(prior).length > 0 || this.#wasManaged(path))) return null;
    return objectOf(kept);
  }

  #leftElement(type: AttributeType, prior: CtyValue, path: string): CtyValue {
    if (type.kind !== 'nested' || !isObject(prior)) return this.#isManagedValue(prior, path) ? null : prior;
    const kept = Object.entries(type.attributes).map(([name, attribute]): [string, CtyValue] => {
      const before = prior[name] ?? null;
      return [name, attribute.given === 'computed' ? before : this.#left(attribute.type, before, below(path, name))];
    });
    const settable = kept.filter(([name]) => type.attributes[name]?.given !== 'computed');
    const isEmptied = settable.every(([, value]) => value === null);
    const wasEmpty = settable.every(([name]) => (prior[name] ?? null) === null);
    return isEmptied && (!wasEmpty || this.#wasManaged(path)) ? null : objectOf(kept);
  }

  #isManagedValue(value: CtyValue, path: string): boolean {
    return (
      this.#wasManaged(path) ||
      (isObject(value) && Object.keys(value).some((key) => this.#wasManaged(below(path, key))))
    );
  }
}

function below(path: string, step: string): string {
  return path === '' ? step : `${path}.${step}`;
}
