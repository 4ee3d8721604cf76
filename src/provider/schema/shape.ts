/**
 * What a field table looks like in the host's language: the zod schemas read once, each kind of field by one rule. The
 * attributes of the schema and both directions of the conversion follow from it, so a new field needs nothing here.
 */
import { z } from 'zod';
import { invariant } from '../../base/errors.ts';
import { type FieldFacts, fieldFacts } from '../../kinds/fields/field.ts';
import type { CtyType } from '../cty/value.ts';

/** What every shape knows of its field. */
interface Common {
  readonly schema: z.core.$ZodType;
  readonly facts?: FieldFacts;
  /** For what has no facts of its own because it only holds other fields. */
  readonly description?: string;
  readonly isRequired: boolean;
  /** What the table assumes where nobody says anything. */
  readonly fallback?: unknown;
  readonly isDeprecated: boolean;
}

/** How the value of a file is spelled where the host's types have no room for it. */
export type Spelling =
  | 'same'
  /** Only `true` can be written; false says nothing. */
  | 'true-or-nothing'
  /** A number, or 0 for `false`. */
  | 'zero-is-false'
  /** A text, or "none" for `false`. */
  | 'none-is-false'
  /** A text; digits alone are a number. */
  | 'digits-are-number'
  /** A map of texts, whatever the file has. */
  | 'texts';

export interface LeafShape extends Common {
  readonly kind: 'leaf';
  readonly type: CtyType;
  readonly spelling: Spelling;
  /** The only texts allowed. */
  readonly words: readonly string[];
}

export interface GroupShape extends Common {
  readonly kind: 'group';
  readonly fields: Readonly<Record<string, Shape>>;
  /** Texts that stand for the whole group, given in the field of this name. */
  readonly keyword?: { readonly field: string; readonly words: readonly string[] };
  /** `false` stands for the whole group, given as `enabled = false`. */
  readonly hasSwitch: boolean;
  /** What `false` means, where the table says so. */
  readonly offMeans?: string;
}

export interface SlotsShape extends Common {
  readonly kind: 'slots';
  readonly item: GroupShape;
  readonly keySchema: z.core.$ZodType;
  /** What a key may be, in the table's own words. */
  readonly keyRule?: string;
}

export type Shape = LeafShape | GroupShape | SlotsShape;

/** The attribute that switches a group off. */
export const SWITCH = 'enabled';

export function groupShape(schema: z.core.$ZodType): GroupShape {
  const shape = shapeOf(schema);
  invariant(shape.kind === 'group', 'A field table is a group of fields.');
  return shape;
}

/** The shape at a dotted path; a step below slots is any slot that there can be. */
export function shapeAt(root: GroupShape, path: string): Shape | undefined {
  return path.split('.').reduce<Shape | undefined>((shape, step) => {
    if (shape?.kind === 'slots') return z.safeParse(shape.keySchema, step).success ? shape.item : undefined;
    return shape?.kind === 'group' && Object.hasOwn(shape.fields, step) ? shape.fields[step] : undefined;
  }, root);
}

function shapeOf(schema: z.core.$ZodType, around: Partial<Common> = {}): Shape {
  const def = definition(schema);
  const facts = around.facts ?? fieldFacts.get(schema);
  const said = z.globalRegistry.get(schema);
  const description = around.description ?? said?.description;
  const common: Common = {
    schema: around.schema ?? schema,
    isRequired: around.isRequired ?? true,
    isDeprecated: around.isDeprecated === true || said?.deprecated === true,
    ...(facts && { facts }),
    ...(description !== undefined && { description }),
    ...(around.fallback !== undefined && { fallback: around.fallback }),
  };
  switch (def.type) {
    case 'optional':
      return shapeOf(def.innerType, { ...common, isRequired: false });
    case 'default':
    case 'prefault':
      return shapeOf(def.innerType, { ...common, isRequired: false, fallback: def.defaultValue });
    case 'object':
      return { ...common, kind: 'group', fields: fieldsOf(def.shape), hasSwitch: false };
    case 'record':
      return recordShape(def, common);
    case 'union':
      return unionShape(flatOptions(schema), common);
    default:
      return leaf(common, typeOf(schema), isTrueOnly(schema) ? 'true-or-nothing' : 'same', wordsOf(schema));
  }
}

function fieldsOf(shape: Readonly<Record<string, z.core.$ZodType>>): Readonly<Record<string, Shape>> {
  return Object.fromEntries(Object.entries(shape).map(([name, inner]) => [name, shapeOf(inner)]));
}

function recordShape(def: Definition & { readonly type: 'record' }, common: Common): Shape {
  const item = definition(def.valueType).type === 'object' ? shapeOf(def.valueType) : undefined;
  if (item?.kind === 'group') {
    const keyRule = z.safeParse(def.keyType, '').error?.issues[0]?.message;
    return { ...common, kind: 'slots', item, keySchema: def.keyType, ...(keyRule !== undefined && { keyRule }) };
  }
  const inner = scalarsOf(def.valueType);
  const type = inner.length === 1 ? (inner[0] ?? 'string') : 'string';
  return leaf(common, ['map', type], type === 'string' ? 'texts' : 'same', wordsOf(def.valueType));
}

function unionShape(options: readonly z.core.$ZodType[], common: Common): Shape {
  const groups = options.filter((option) => definition(option).type === 'object').map((option) => shapeOf(option));
  const rest = options.filter((option) => definition(option).type !== 'object');
  const off = rest.find(isFalse);
  const others = rest.filter((option) => !isFalse(option));
  if (groups.length > 0) return groupUnion(groups, off, others, common);
  const scalars = [...new Set(others.flatMap(scalarsOf))];
  const words = others.flatMap(wordsOf);
  if (off) {
    invariant(scalars.length === 1 && scalars[0] !== 'bool', 'Beside false there is one kind of value.');
    return scalars[0] === 'number'
      ? leaf(common, 'number', 'zero-is-false', words)
      : leaf(common, 'string', 'none-is-false', words);
  }
  if (scalars.length === 1) return leaf(common, scalars[0] ?? 'string', 'same', words);
  invariant(scalars.includes('string') && scalars.length === 2 && scalars.includes('number'), 'A union has no rule.');
  return leaf(common, 'string', 'digits-are-number', words);
}

function groupUnion(
  groups: readonly Shape[],
  off: z.core.$ZodType | undefined,
  keywords: readonly z.core.$ZodType[],
  common: Common,
): GroupShape {
  const parts = groups.flatMap((group) => (group.kind === 'group' ? Object.entries(group.fields) : []));
  // Of several groups one is chosen, and of one that can be switched off nothing need be said.
  const isOptional = groups.length > 1 || off !== undefined;
  const fields = Object.fromEntries(
    parts.map(([name, shape]) => [name, isOptional ? { ...shape, isRequired: false } : shape]),
  );
  const words = keywords.flatMap(wordsOf);
  const offMeans = off && fieldFacts.get(off)?.description;
  const [first] = Object.keys(fields);
  invariant(first !== undefined && keywords.every((each) => wordsOf(each).length > 0), 'Beside a group stand words.');
  invariant(off === undefined || !Object.hasOwn(fields, SWITCH), `A group that can be false has no field "${SWITCH}".`);
  return {
    ...common,
    kind: 'group',
    fields,
    hasSwitch: off !== undefined,
    ...(offMeans !== undefined && { offMeans }),
    ...(words.length > 0 && { keyword: { field: first, words } }),
  };
}

function leaf(common: Common, type: CtyType, spelling: Spelling, words: readonly string[]): LeafShape {
  // The order of a set means nothing, which the type of a list cannot say.
  const isSet = common.facts?.unordered === true && typeof type !== 'string' && type[0] === 'list';
  const settled: CtyType = isSet ? ['set', type[1]] : type;
  return { ...common, kind: 'leaf', type: settled, spelling, words };
}

function typeOf(schema: z.core.$ZodType): CtyType {
  const def = definition(schema);
  if (def.type === 'array') return ['list', typeOf(def.element)];
  const [only, ...more] = scalarsOf(schema);
  invariant(only !== undefined && more.length === 0, `A field of the kind "${def.type}" has no type for the host.`);
  return only;
}

type Scalar = 'string' | 'number' | 'bool';

/** What may be written, as scalars of the host. Text with a unit is text: a bare number is refused anyway. */
function scalarsOf(schema: z.core.$ZodType): Scalar[] {
  const def = definition(schema);
  switch (def.type) {
    case 'optional':
    case 'default':
    case 'prefault':
      return scalarsOf(def.innerType);
    case 'pipe': {
      const read = scalarsOf(def.in);
      return read.includes('string') ? ['string'] : read;
    }
    case 'union':
      return [...new Set(def.options.flatMap(scalarsOf))];
    case 'string':
    case 'template_literal':
      return ['string'];
    case 'number':
    case 'int':
      return ['number'];
    case 'boolean':
      return ['bool'];
    case 'enum':
      return [...new Set(Object.values(def.entries).map(scalarOf))];
    case 'literal':
      return [...new Set(def.values.map(scalarOf))];
    default:
      return [];
  }
}

function scalarOf(value: unknown): Scalar {
  return typeof value === 'number' ? 'number' : typeof value === 'boolean' ? 'bool' : 'string';
}

function wordsOf(schema: z.core.$ZodType): string[] {
  const def = definition(schema);
  const values = def.type === 'enum' ? Object.values(def.entries) : def.type === 'literal' ? def.values : [];
  if (def.type === 'array') return wordsOf(def.element);
  return values.filter((value) => typeof value === 'string');
}

function flatOptions(schema: z.core.$ZodType): z.core.$ZodType[] {
  const def = definition(schema);
  return def.type === 'union' ? def.options.flatMap(flatOptions) : [schema];
}

function isFalse(schema: z.core.$ZodType): boolean {
  const def = definition(schema);
  return def.type === 'literal' && def.values.length === 1 && def.values[0] === false;
}

function isTrueOnly(schema: z.core.$ZodType): boolean {
  const def = definition(schema);
  return def.type === 'literal' && def.values.length === 1 && def.values[0] === true;
}

/** zod describes each kind of schema by `def`; the base type does not say which kinds there are. */
function definition(schema: z.core.$ZodType): Definition {
  return (schema._zod as unknown as { readonly def: Definition }).def;
}

type Definition =
  | { readonly type: 'object'; readonly shape: Readonly<Record<string, z.core.$ZodType>> }
  | { readonly type: 'record'; readonly keyType: z.core.$ZodType; readonly valueType: z.core.$ZodType }
  | { readonly type: 'union'; readonly options: readonly z.core.$ZodType[] }
  | { readonly type: 'optional'; readonly innerType: z.core.$ZodType }
  | { readonly type: 'default' | 'prefault'; readonly innerType: z.core.$ZodType; readonly defaultValue: unknown }
  | { readonly type: 'array'; readonly element: z.core.$ZodType }
  | { readonly type: 'pipe'; readonly in: z.core.$ZodType }
  | { readonly type: 'enum'; readonly entries: Readonly<Record<string, string | number>> }
  | { readonly type: 'literal'; readonly values: readonly unknown[] }
  | { readonly type: 'string' | 'template_literal' | 'number' | 'int' | 'boolean' };
