/**
 * What the provider says about a configuration that no host has read yet: `convert` asks it about what it wrote. The values
 * get their types here as the host would give them.
 */
import { type CtyObject, type CtyType, type CtyValue, objectOf, UNKNOWN } from './cty/value.ts';
import { desiredImage, IMAGE_SCHEMA, IMAGE_SHAPE } from './kinds/image/desired.ts';
import { desiredTemplate, TEMPLATE_SCHEMA, TEMPLATE_SHAPE } from './kinds/template/desired.ts';
import { desiredVm } from './kinds/vm/desired.ts';
import { VM_SCHEMA } from './kinds/vm/schema.ts';
import { VM_SHAPE } from './kinds/vm/shape.ts';
import type { ProviderDiagnostic } from './provider.ts';
import type { Attributes, AttributeType } from './schema/model.ts';
import { dottedOf } from './values/diagnostics.ts';
import { toFields } from './values/to-fields.ts';

export interface ConfigurationProblem {
  /** `nics.net0.vlan`; empty for the whole resource. */
  readonly path: string;
  readonly detail: string;
}

export interface CheckedConfiguration {
  readonly problems: readonly ConfigurationProblem[];
  /** As a stack file would have it. What is unknown is left out. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What exists has more than its configuration says, as under `terraform validate`. */
const KINDS = {
  proxwright_vm: { schema: VM_SCHEMA, shape: VM_SHAPE, desired: (config: CtyObject) => desiredVm(config, true) },
  proxwright_template: { schema: TEMPLATE_SCHEMA, shape: TEMPLATE_SHAPE, desired: desiredTemplate },
  proxwright_image: { schema: IMAGE_SCHEMA, shape: IMAGE_SHAPE, desired: desiredImage },
} as const;

/** An attribute that is undefined is not known yet. */
export function checkConfiguration(
  type: keyof typeof KINDS,
  attributes: Readonly<Record<string, unknown>>,
): CheckedConfiguration {
  const { schema, shape, desired } = KINDS[type];
  const problems: ConfigurationProblem[] = [];
  const config = objectIn(attributes, schema.attributes, '', problems);
  const refused = desired(config).problems.filter(({ severity }) => severity === 'error');
  return { problems: [...problems, ...refused.map(problemOf)], fields: toFields(config, shape).tree };
}

function problemOf({ about, path = [], detail }: ProviderDiagnostic): ConfigurationProblem {
  const { field, reason } = about ?? { field: dottedOf(path), reason: detail };
  return { path: field, detail: reason.replace(/\s+/g, ' ') }; // on one line
}

function objectIn(
  given: Readonly<Record<string, unknown>>,
  attributes: Attributes,
  path: string,
  problems: ConfigurationProblem[],
): CtyObject {
  for (const name of Object.keys(given).filter((each) => !Object.hasOwn(attributes, each))) {
    problems.push({ path: below(path, name), detail: `There is no attribute "${name}" here.` });
  }
  return objectOf(
    Object.entries(attributes).map(([name, attribute]) => {
      const place = below(path, name);
      const isGiven = Object.hasOwn(given, name) && given[name] !== null;
      if (!isGiven && attribute.given === 'required') problems.push({ path: place, detail: `"${place}" is required.` });
      return [name, isGiven ? valueIn(given[name], attribute.type, place, problems) : null];
    }),
  );
}

function valueIn(given: unknown, type: AttributeType, path: string, problems: ConfigurationProblem[]): CtyValue {
  if (given === undefined) return UNKNOWN;
  if (type.kind === 'value') return typed(given, type.type, path, problems);
  if (type.nesting === 'single') {
    return isRecord(given) ? objectIn(given, type.attributes, path, problems) : unfit(path, 'a map', problems);
  }
  const entry = (value: unknown, name: string): CtyValue => {
    const place = below(path, name);
    if (value === undefined) return UNKNOWN;
    if (value === null) return null;
    return isRecord(value) ? objectIn(value, type.attributes, place, problems) : unfit(place, 'a map', problems);
  };
  if (type.nesting === 'list') {
    return Array.isArray(given)
      ? given.map((item, index) => entry(item, String(index)))
      : unfit(path, 'a list', problems);
  }
  if (!isRecord(given)) return unfit(path, 'a map', problems);
  return objectOf(Object.entries(given).map(([name, value]) => [name, entry(value, name)]));
}

/** By the conversions of the host: `"4"` is a number where one is expected. */
function typed(given: unknown, type: CtyType, path: string, problems: ConfigurationProblem[]): CtyValue {
  if (given === undefined) return UNKNOWN;
  if (given === null) return null;
  if (type === 'string') return isRecord(given) || Array.isArray(given) ? unfit(path, 'text', problems) : String(given);
  if (type === 'number') {
    const isNumber = typeof given === 'number' || (typeof given === 'string' && /^-?\d+(\.\d+)?$/.test(given));
    return isNumber ? Number(given) : unfit(path, 'a number', problems);
  }
  if (type === 'bool') {
    const flag = FLAGS.get(given);
    return flag ?? unfit(path, 'true or false', problems);
  }
  if (type === 'dynamic' || type[0] === 'object' || type[0] === 'tuple') return UNKNOWN;
  const [kind, inner] = type;
  if (kind === 'map') {
    if (!isRecord(given)) return unfit(path, 'a map', problems);
    return objectOf(
      Object.entries(given).map(([name, each]) => [name, typed(each, inner, below(path, name), problems)]),
    );
  }
  if (!Array.isArray(given)) return unfit(path, 'a list', problems);
  return given.map((each, index) => typed(each, inner, below(path, String(index)), problems));
}

const FLAGS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  [true, true],
  ['true', true],
  ['1', true],
  [false, false],
  ['false', false],
  ['0', false],
]);

function unfit(path: string, kind: string, problems: ConfigurationProblem[]): CtyValue {
  problems.push({ path, detail: `"${path}" must be ${kind}.` });
  return UNKNOWN;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function below(path: string, step: string): string {
  return path === '' ? step : `${path}.${step}`;
}
