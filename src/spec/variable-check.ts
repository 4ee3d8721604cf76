/** Checks a value against the declaration of its variable. */
import type { Findings } from './findings.ts';
import { describeKind, type Located, quote } from './located.ts';
import type { VariableDeclaration } from './stack-schema.ts';
import { SCALAR_TYPES } from './variable-types.ts';
import type { Given } from './variable-values.ts';

export function fitsDeclaration(
  name: string,
  given: Given,
  declaration: VariableDeclaration,
  findings: Findings,
): boolean {
  const { value, source } = given;
  const elements = elementsOf(value, declaration.type);
  const misfits = typeMisfits(`The variable "${name}"`, value, elements, declaration);
  if (misfits.length === 0) {
    misfits.push(...boundMisfits(`The variable "${name}"`, value, elements?.length, declaration));
  }
  for (const { node, detail, hint } of misfits) {
    findings.add({ code: 'BAD_VALUE', where: node.at, detail: `${detail} (from ${source}).`, hint });
  }
  return misfits.length === 0;
}

interface Misfit {
  readonly node: Located;
  readonly detail: string;
  readonly hint?: string | undefined;
}

function typeMisfits(
  label: string,
  value: Located,
  elements: readonly (readonly [string, Located])[] | undefined,
  { type, of, sensitive }: VariableDeclaration,
): Misfit[] {
  const found = (node: Located) => (sensitive ? '' : `; it is ${describeKind(node)}`);
  const one = (node: Located, wanted: string, what: string): Misfit[] => {
    const known = SCALAR_TYPES[wanted];
    if (node.kind === 'unknown') return [];
    if (!known)
      return node.kind === 'map' ? [] : [{ node, detail: `${what} must be a map of VM fields${found(node)}` }];
    if (node.kind === 'scalar' && known.fits(node.value)) return [];
    const isBareNumber = wanted === 'string' && node.kind === 'scalar' && typeof node.value === 'number';
    const hint = isBareNumber ? 'Put the value into quotes.' : undefined;
    return [{ node, detail: `${what} must be ${known.expects}${found(node)}`, hint }];
  };
  if (type !== 'list' && type !== 'map') return one(value, type, label);
  if (!elements) return [{ node: value, detail: `${label} must be a ${type}${found(value)}` }];
  return of === undefined ? [] : elements.flatMap(([key, node]) => one(node, of, `${label}, element ${key},`));
}

function boundMisfits(
  label: string,
  node: Located,
  count: number | undefined,
  { type, min, max, pattern, sensitive }: VariableDeclaration,
): Misfit[] {
  const value = node.kind === 'scalar' ? node.value : null;
  const found = sensitive ? '' : count === undefined ? `; it is ${quote(value)}` : `; it has ${count}`;
  const unit = count === undefined ? '' : ' elements';
  const measured = count ?? magnitudeOf(type, value);
  const [lowest, highest] = [magnitudeOf(type, min ?? null), magnitudeOf(type, max ?? null)];
  const misfits: Misfit[] = [];
  if (measured !== undefined && lowest !== undefined && measured < lowest) {
    misfits.push({ node, detail: `${label} must be at least ${min}${unit}${found}` });
  }
  if (measured !== undefined && highest !== undefined && measured > highest) {
    misfits.push({ node, detail: `${label} must be at most ${max}${unit}${found}` });
  }
  if (pattern !== undefined && typeof value === 'string' && !new RegExp(pattern, 'u').test(value)) {
    misfits.push({ node, detail: `${label} must match ${pattern}${found}` });
  }
  return misfits;
}

/** `min` and `max` limit a value or a number of elements, depending on the type. Undefined if they do not apply. */
export function magnitudeOf(type: string, bound: string | number | boolean | null): number | undefined {
  if (type === 'list' || type === 'map') return typeof bound === 'number' ? bound : undefined;
  return SCALAR_TYPES[type]?.magnitude?.(bound);
}

function elementsOf(value: Located, type: string): [string, Located][] | undefined {
  if (type === 'list' && value.kind === 'list') return value.items.map((item, index) => [String(index + 1), item]);
  if (type === 'map' && value.kind === 'map')
    return [...value.entries].map(([key, entry]) => [quote(key), entry.value]);
  return undefined;
}
