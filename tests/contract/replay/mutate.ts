/** Every small way of making a JSON value wrong: one leaf changed, one key or element removed or added. */
import { isList, isObject, type Json, type JsonObject } from './types.ts';

type Place = readonly (string | number)[];

export interface Mutation {
  /** The keys and indexes that lead to what was changed. */
  readonly place: Place;
  readonly kind: 'changed' | 'removed' | 'added';
  /** The whole value, wrong in this one place. */
  readonly value: Json;
}

export function* mutations(value: Json): Generator<Mutation> {
  if (isList(value)) yield* listMutations(value);
  else if (isObject(value)) yield* objectMutations(value);
  else for (const other of otherLeaves(value)) yield { place: [], kind: 'changed', value: other };
}

/** How many strings, numbers, booleans and nulls a value holds. */
export function countLeaves(value: Json): number {
  if (isList(value)) return value.reduce<number>((sum, element) => sum + countLeaves(element), 0);
  if (isObject(value)) return countLeaves(Object.values(value));
  return 1;
}

/** Written as in mismatches: `body.data[0].name`. */
export function formatPlace(place: Place): string {
  return place
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '');
}

export function valueAt(value: Json, place: Place): Json | undefined {
  return place.reduce<Json | undefined>((inner, part) => {
    if (typeof part === 'number') return isList(inner) ? inner[part] : undefined;
    return isObject(inner) ? inner[part] : undefined;
  }, value);
}

function* listMutations(list: readonly Json[]): Generator<Mutation> {
  for (const [index, element] of list.entries()) {
    for (const { place, kind, value } of mutations(element)) {
      yield { place: [index, ...place], kind, value: list.with(index, value) };
    }
    yield { place: [index], kind: 'removed', value: list.toSpliced(index, 1) };
  }
  yield { place: [list.length], kind: 'added', value: [...list, list.at(-1) ?? 'unheard-of'] };
}

function* objectMutations(object: JsonObject): Generator<Mutation> {
  for (const [key, inner] of Object.entries(object)) {
    for (const { place, kind, value } of mutations(inner)) {
      yield { place: [key, ...place], kind, value: { ...object, [key]: value } };
    }
    const { [key]: _, ...rest } = object;
    yield { place: [key], kind: 'removed', value: rest };
  }
  yield { place: ['unheard-of'], kind: 'added', value: { ...object, 'unheard-of': 1 } };
}

/** Other values for a leaf: some of the same type, far enough to leave any tolerance, and some of another type. */
function otherLeaves(leaf: Json): readonly Json[] {
  if (typeof leaf === 'string') return [`${leaf}~`, `${leaf.startsWith('#') ? '%' : '#'}${leaf.slice(1)}`, null];
  if (typeof leaf === 'number') return [leaf + 1_000_003, String(leaf), null];
  if (typeof leaf === 'boolean') return [!leaf, leaf ? 1 : 0, null];
  return [0, '', false];
}
