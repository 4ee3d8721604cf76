/**
 * A field table in the host's language: the zod schemas, read once, with one rule for each kind of field. The attributes
 * of the schema and both directions of the conversion follow from it, so a new field needs no change here.
 */
import { z } from 'zod';
import { invariant } from '../../base/errors.ts';
import { once } from '../../base/values/once.ts';
import { type FieldFacts, fieldFacts } from '../../kinds/fields/field.ts';
import type { CtyType } from '../cty/value.ts';

/** What every shape knows about its field. */
interface Common {
  readonly schema: z.core.$ZodType;
  readonly facts?: FieldFacts;
  /** For a group, which has no facts itself. */
  readonly description?: string;
  readonly isRequired: boolean;
  /** The default of the table. */
  readonly fallback?: unknown;
  readonly isDeprecated: boolean;
}

/** How the host writes a value of a stack file that its types cannot express. */
export type Spelling =
  | 'same'
  /** Only `true` can be written; `false` means not set. */
  | 'true-or-nothing'
  /** A number, or 0 for `false`. */
  | 'zero-is-false'
  /** A text, or "none" for `false`. */
  | 'none-is-false'
  /** A text; only digits are a number. */
  | 'digits-are-number'
  /** A map of texts, whatever types the stack file has. */
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
  /** Texts that replace the whole group, written in the field of this name. */
  readonly keyword?: { readonly field: string; readonly words: readonly string[] };
  /** `false` can replace the whole group, written as `enabled = false`. */
  readonly hasSwitch: boolean;
  /** What `false` means, if the table has a description for it. */
  readonly offMeans?: string;
}

export interface SlotsShape extends Common {
  readonly kind: 'slots';
  readonly item: GroupShape;
  readonly keySchema: z.core.$ZodType;
  /** What a key may be, as the table describes it. */
  readonly keyRule: string | undefined;
}

export type Shape = LeafShape | GroupShape | SlotsShape;

/** The attribute that switches a group off. */
export const SWITCH = 'enabled';

export function groupShape(schema: z.core.$ZodType): GroupShape {
  const shape = shapeOf(schema);
  invariant(shape.kind === 'group', 'A field table is a group of fields.');
  return shape;
}

/** The shape at a dotted path. A step below slots is any valid slot name. */
export function shapeAt(root: GroupShape, path: string): Shape | undefined {
  return path.split('.').reduce<Shape | undefined>((shape, step) => {
    if (shape?.kind === 'slots') return z.safeParse(shape.keySchema, step).success ? shape.item : undefined;
    return shape?.kind === 'group' && Object.hasOwn(shape.fields, step) ? shape.fields[step] : undefined;
  }, root);
}

function shapeOf(schema: z.core.$ZodType, outer: Partial<Common> = {}): Shape {
  const def = definition(schema);
  const facts = outer.facts ?? fieldFacts.get(schema);
  const registered = z.globalRegistry.get(schema);
  const description = outer.description ?? registered?.description;
  const common: Common = {
    schema: outer.schema ?? schema,
    isRequired: outer.isRequired ?? true,
    isDeprecated: outer.isDeprecated === true || registered?.deprecated === true,
    ...(facts && { facts }),
    ...(description !== undefined && { description }),
    ...(outer.fallback !== undefined && { fallback: outer.fallback }),
  };
  switch (def.type) {
    case 'optional':
      return shapeOf(def.innerType, { ...common, isRequired: false });
    case 'default':
    case 'prefault':
      return shapeOf(def.innerType, { ...common, isRequired: false, fallback: def.defaultValue });
    case 'object':
      return lazyGroup(common, () => fieldsOf(def.shape));
    case 'record':
      return recordShape(def, common);
    case 'union':
      return unionShape(flatOptions(schema), common);
    default:
      return leaf(common, typeOf(schema), isTrueOnly(schema) ? 'true-or-nothing' : 'same', wordsOf(schema));
  }
}

/** Its fields are read when they are first needed: a configuration leaves most blocks out. */
function lazyGroup(common: Common, fields: () => GroupShape['fields']): GroupShape {
  const read = once(fields);
  return {
    ...common,
    kind: 'group',
    get fields() {
      return read();
    },
    hasSwitch: false,
  };
}

function fieldsOf(shape: Readonly<Record<string, z.core.$ZodType>>): Readonly<Record<string, Shape>> {
  return Object.fromEntries(Object.entries(shape).map(([name, inner]) => [name, shapeOf(inner)]));
}

function recordShape(def: Definition & { readonly type: 'record' }, common: Common): Shape {
  const item = definition(def.valueType).type === 'object' ? shapeOf(def.valueType) : undefined;
  if (item?.kind === 'group') {
    const keySchema = def.keyType;
    return {
      ...common,
      kind: 'slots',
      item,
      keySchema,
      get keyRule() {
        return z.safeParse(keySchema, '').error?.issues[0]?.message;
      },
    };
  }
  if (definition(def.valueType).type === 'array') return leaf(common, ['map', typeOf(def.valueType)], 'same', []);
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
    invariant(scalars.length === 1 && scalars[0] !== 'bool', 'Only one type can be combined with false.');
    return scalars[0] === 'number'
      ? leaf(common, 'number', 'zero-is-false', words)
      : leaf(common, 'string', 'none-is-false', words);
  }
  if (scalars.length === 1) return leaf(common, scalars[0] ?? 'string', 'same', words);
  invariant(
    scalars.includes('string') && scalars.length === 2 && scalars.includes('number'),
    'This union has no rule.',
  );
  return leaf(common, 'string', 'digits-are-number', words);
}

function groupUnion(
  groups: readonly Shape[],
  off: z.core.$ZodType | undefined,
  keywords: readonly z.core.$ZodType[],
  common: Common,
): GroupShape {
  const parts = groups.flatMap((group) => (group.kind === 'group' ? Object.entries(group.fields) : []));
  // The user chooses one of several groups, and a group that can be switched off may be empty.
  const isOptional = groups.length > 1 || off !== undefined;
  const fields = Object.fromEntries(
    parts.map(([name, shape]) => [name, isOptional ? { ...shape, isRequired: false } : shape]),
  );
  const words = keywords.flatMap(wordsOf);
  const offMeans = off && fieldFacts.get(off)?.description;
  const [first] = Object.keys(fields);
  invariant(
    first !== undefined && keywords.every((each) => wordsOf(each).length > 0),
    'A group can only be combined with keywords.',
  );
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
  // The order of a set has no meaning, which the type of a list cannot express.
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

/** The scalars of the host that may be written. Text with a unit is text: the field refuses a bare number anyway. */
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

/** zod describes each kind of schema by `def`; the base type does not list the kinds. */
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
