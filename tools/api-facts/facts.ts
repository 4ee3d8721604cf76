/**
 * Reads the facts about the API of Proxmox VE and prints them as `api-facts.generated.ts`. Formats and parameters that
 * occur several times become constants, so that the result can be read and reviewed.
 */
import type { ApiFacts } from '../../src/simulator/schema/api-of-release.ts';

/**
 * How many parameters a name ending in `[n]` stands for: the limits in qemu-server (`QemuServer.pm` and
 * `QemuServer/{Drive,Memory,PCI,USB,Virtiofs}.pm`) and pve-manager (`NodeConfig.pm`, whose loop includes its maximum).
 */
const FAMILY_SIZES: Readonly<Record<string, number>> = {
  'acmedomain[n]': 6,
  'hostpci[n]': 16,
  'ide[n]': 4,
  'ipconfig[n]': 32,
  'net[n]': 32,
  'numa[n]': 8,
  'parallel[n]': 3,
  'sata[n]': 6,
  'scsi[n]': 31,
  'serial[n]': 4,
  'unused[n]': 256,
  'usb[n]': 14,
  'virtio[n]': 16,
  'virtiofs[n]': 10,
};

const NUMERIC_KEYS = ['minimum', 'maximum', 'minLength', 'maxLength'];
const COPIED_KEYS = ['type', 'enum', 'pattern', 'requires', 'alias', 'keyAlias'];

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

/**
 * Rewrites a pattern that backtracks exponentially into an equivalent one that does not: Perl's engine remembers where
 * it failed before, JavaScript's does not.
 */
function tamePattern(pattern: string): string {
  return pattern.replaceAll('(?:[._]|__|[-]*)', '(?:[._]|__|-+)');
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The facts in the form that the simulator uses, from the JSON in this folder. Endpoints are sorted by name. */
export function readFacts(json: string): ApiFacts {
  const input = JSON.parse(json) as JsonObject;
  const endpoints = sorted(input).map(([name, facts]) => [name, cleanEndpoint(isObject(facts) ? facts : {})]);
  return Object.fromEntries(endpoints) as ApiFacts; // `cleanEndpoint` builds exactly this shape
}

function cleanSchema(name: string, input: JsonObject): JsonObject {
  const schema: JsonObject = {};
  // A null is an undefined variable in the server's declaration: it checks nothing.
  for (const key of COPIED_KEYS) if ((input[key] ?? null) !== null) schema[key] = input[key] ?? null;
  // A default with blanks in it is a sentence for people, not a value.
  const fallback = input.default ?? null;
  if (fallback !== null && !/\s/.test(String(fallback))) schema.default = fallback;
  for (const key of NUMERIC_KEYS) if (input[key] !== undefined) schema[key] = Number(input[key]);
  if (typeof schema.pattern === 'string') schema.pattern = tamePattern(schema.pattern);
  for (const key of ['optional', 'default_key']) if (input[key]) schema[key] = true;
  if (isObject(input.format)) schema.format = cleanSchemas(input.format);
  else if (input.format !== undefined) schema.format = input.format;
  if (isObject(input.items)) schema.items = cleanSchema(name, input.items);
  if (name.endsWith('[n]')) {
    const count = FAMILY_SIZES[name];
    if (count === undefined) throw new Error(`No count is known for ${name}.`);
    schema.count = count;
  }
  return schema;
}

function cleanSchemas(input: JsonObject): JsonObject {
  const schemas: JsonObject = {};
  for (const [name, schema] of sorted(input)) if (isObject(schema)) schemas[name] = cleanSchema(name, schema);
  return schemas;
}

function cleanEndpoint(input: JsonObject): JsonObject {
  const endpoint: JsonObject = {
    params: isObject(input.params) ? cleanSchemas(input.params) : {},
    permissions: isObject(input.permissions) ? input.permissions : {},
  };
  if (isObject(input.variants)) {
    endpoint.variants = Object.fromEntries(
      sorted(input.variants).map(([type, params]) => [type, cleanSchemas(isObject(params) ? params : {})]),
    );
  }
  if (input.protected) endpoint.protected = true;
  if (input.proxyto !== undefined) endpoint.proxyto = input.proxyto;
  if (!input.allowtoken) endpoint.allowtoken = false;
  return endpoint;
}

function sorted(object: JsonObject): [string, Json][] {
  return Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Values that occur more than once, each with the constant that stands for it, in order of definition. */
class Constants {
  readonly #uses = new Map<string, number>();
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly definitions: string[] = [];

  countUses(schemas: JsonObject): void {
    for (const schema of Object.values(schemas)) {
      if (!isObject(schema)) continue;
      this.#count(schema);
      for (const inner of [schema, schema.items]) {
        if (!isObject(inner) || !isObject(inner.format)) continue;
        this.#count(inner.format);
        this.countUses(inner.format);
      }
    }
  }

  #count(value: JsonObject): void {
    const key = JSON.stringify(value);
    this.#uses.set(key, (this.#uses.get(key) ?? 0) + 1);
  }

  /** The text of a schema or format: its constant when it is long and repeated, else the literal. */
  render(value: JsonObject, hint: string, suffix: 'Param' | 'Format'): string {
    const key = JSON.stringify(value);
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const text =
      suffix === 'Format'
        ? `{ ${Object.entries(value)
            .map(([name, schema]) => `${quoteKey(name)}: ${this.render(schema as JsonObject, name, 'Param')}`)
            .join(', ')} }`
        : this.#renderSchema(value, hint);
    if ((this.#uses.get(key) ?? 0) < 2 || text.length < 50) return text;
    const name = this.#newName(hint, suffix);
    this.#names.set(key, name);
    this.definitions.push(`const ${name}: ${suffix === 'Format' ? 'PropertyFormat' : 'ParamSchema'} = ${text};`);
    return name;
  }

  #renderSchema(schema: JsonObject, hint: string): string {
    const parts = Object.entries(schema).map(([key, value]) => {
      if (key === 'format' && isObject(value)) return `format: ${this.render(value, hint, 'Format')}`;
      if (key === 'items' && isObject(value)) return `items: ${this.#renderSchema(value, hint)}`;
      return `${key}: ${literal(value)}`;
    });
    return `{ ${parts.join(', ')} }`;
  }

  #newName(hint: string, suffix: string): string {
    const base = hint.replace('[n]', '').replace(/[^a-zA-Z0-9]+(.)/g, (_, letter: string) => letter.toUpperCase());
    let name = `${base}${suffix}`;
    for (let number = 2; this.#taken.has(name); number += 1) name = `${base}${suffix}${number}`;
    this.#taken.add(name);
    return name;
  }
}

export function quoteKey(key: string): string {
  return /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(key) ? key : literal(key);
}

export function literal(value: Json): string {
  if (typeof value === 'string') return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (isObject(value))
    return `{ ${Object.entries(value)
      .map(([k, v]) => `${quoteKey(k)}: ${literal(v)}`)
      .join(', ')} }`;
  return String(value);
}

const HEADER = `/**
 * Generated by \`npm run facts\`; do not edit. Facts about the parameters and declared privileges of the API of
 * Proxmox VE 9.2.11: names, types, formats, limits. Texts for people and return shapes are left out.
 */
import type { EndpointFacts, ParamSchema, PropertyFormat } from './types.ts';
`;

/** The text of `api-facts.generated.ts`. */
export function renderFacts(facts: ApiFacts): string {
  const endpoints = Object.entries(facts as unknown as Readonly<Record<string, JsonObject>>); // only plain data
  const constants = new Constants();
  for (const [, endpoint] of endpoints) constants.countUses(endpoint.params as JsonObject);
  const lines = endpoints.map(([name, { params, ...rest }]) => {
    const rendered = Object.entries(params as JsonObject).map(
      ([key, schema]) => `${quoteKey(key)}: ${constants.render(schema as JsonObject, key, 'Param')}`,
    );
    const others = Object.entries(rest).map(([key, value]) => `${key}: ${literal(value)}`);
    return `  ${quoteKey(name)}: { params: { ${rendered.join(', ')} }, ${others.join(', ')} },`;
  });
  return [
    HEADER,
    ...constants.definitions,
    '',
    'export const API_FACTS: Readonly<Record<string, EndpointFacts>> = {',
    ...lines,
    '};',
    '',
  ].join('\n');
}

const OTHERS_HEADER = `/**
 * Generated by \`npm run facts\`; do not edit. The endpoints of Proxmox VE that the simulator knows by name only, with the
 * first release that has them and, where they went, the first one that does not.
 */
import type { OtherEndpoints } from './types.ts';
`;

/** The text of `other-endpoints.generated.ts`. */
export function renderOtherEndpoints(json: string): string {
  const groups = JSON.parse(json) as { since: string; until?: string; endpoints: string[] }[];
  const lines = groups.flatMap(({ since, until, endpoints }) => [
    `  {\n    since: ${literal(since)},${until === undefined ? '' : `\n    until: ${literal(until)},`}\n    endpoints: [`,
    ...endpoints.map((name) => `      ${literal(name)},`),
    '    ],\n  },',
  ]);
  return [OTHERS_HEADER, 'export const OTHER_ENDPOINTS: readonly OtherEndpoints[] = [', ...lines, '];', ''].join('\n');
}
