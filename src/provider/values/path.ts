/** From the dotted path of a field (`nics.net0.vlan`) to the path of an attribute, and to the part that a host can show. */
import { type AttributePath, attribute, index, key, type PathStep } from '../cty/path.ts';
import type { Attributes, AttributeType } from '../schema/model.ts';

/** The path of an attribute up to where the schema ends; undefined if the schema lacks its first step. */
export function fullPathOf(dotted: string, attributes: Attributes): AttributePath | undefined {
  const [first = '', ...rest] = dotted.split('.');
  const outer = Object.hasOwn(attributes, first) ? attributes[first] : undefined;
  return outer && [attribute(first), ...stepsBelow(outer.type, rest)];
}

/**
 * What the host can point at: an attribute, or one key or index in it. It would show a longer path through a nested
 * attribute at the head of the whole resource.
 */
export function pathOf(dotted: string, attributes: Attributes): AttributePath | undefined {
  const [first, second] = fullPathOf(dotted, attributes) ?? [];
  if (first === undefined) return undefined;
  return second === undefined || second.kind === 'attribute' ? [first] : [first, second];
}

/** The dotted form of a path. */
export function dottedOf(path: AttributePath): string {
  return path
    .map((step) => (step.kind === 'attribute' ? step.name : step.kind === 'key' ? step.key : step.index))
    .join('.');
}

function stepsBelow(type: AttributeType, [step, ...rest]: readonly string[]): PathStep[] {
  if (step === undefined) return [];
  if (type.kind === 'value') return stepInside(type.type, step);
  if (type.nesting === 'map') return [key(step), ...attributesBelow(type.attributes, rest)];
  if (type.nesting === 'list') return [index(Number(step)), ...attributesBelow(type.attributes, rest)];
  return attributesBelow(type.attributes, [step, ...rest]);
}

function attributesBelow(attributes: Attributes, [step = '', ...rest]: readonly string[]): PathStep[] {
  const inner = Object.hasOwn(attributes, step) ? attributes[step] : undefined;
  return inner ? [attribute(step), ...stepsBelow(inner.type, rest)] : [];
}

/** The elements of a set have no index. */
function stepInside(type: (AttributeType & { readonly kind: 'value' })['type'], step: string): PathStep[] {
  if (typeof type === 'string') return [];
  if (type[0] === 'map') return [key(step)];
  return type[0] === 'list' && /^\d+$/.test(step) ? [index(Number(step))] : [];
}
