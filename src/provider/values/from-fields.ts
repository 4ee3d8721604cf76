/** From the fields of a VM, as a stack file writes them, to an object of the host's schema. What is not set is null. */
import { assertNever, invariant } from '../../base/errors.ts';
import { type CtyObject, type CtyValue, objectOf } from '../cty/value.ts';
import type { Attribute, Attributes } from '../schema/model.ts';
import { type GroupShape, type LeafShape, type Shape, SWITCH } from '../schema/shape.ts';

type Tree = Readonly<Record<string, unknown>>;

/** Attributes that are not fields are null. */
export function fromFields(tree: Tree, attributes: Attributes, shape: GroupShape): CtyObject {
  return objectOf(
    Object.entries(attributes).map(([name, attribute]) => {
      const inner = Object.hasOwn(shape.fields, name) ? shape.fields[name] : undefined;
      return [name, inner === undefined ? null : write(tree[name], attribute, inner)];
    }),
  );
}

/** An object of the schema in which nothing is set. */
export function nothingOf(attributes: Attributes): CtyObject {
  return objectOf(Object.keys(attributes).map((name) => [name, null]));
}

function write(value: unknown, attribute: Attribute, shape: Shape): CtyValue {
  if (value === undefined || value === null) return null;
  if (shape.kind === 'leaf') return writeLeaf(value, shape);
  invariant(attribute.type.kind === 'nested', 'Fields inside a field are a nested attribute.');
  const { attributes } = attribute.type;
  switch (shape.kind) {
    case 'group':
      return writeGroup(value, attributes, shape);
    case 'slots':
      return objectOf(
        Object.entries(treeOf(value)).map(([slot, item]) => [slot, writeGroup(item, attributes, shape.item)]),
      );
    default:
      return assertNever(shape);
  }
}

function writeGroup(value: unknown, attributes: Attributes, shape: GroupShape): CtyObject {
  const only = (name: string, alone: CtyValue) => objectOf([...Object.entries(nothingOf(attributes)), [name, alone]]);
  if (shape.hasSwitch && value === false) return only(SWITCH, false);
  if (shape.keyword && typeof value === 'string') return only(shape.keyword.field, value);
  const object = fromFields(treeOf(value), attributes, shape);
  return shape.hasSwitch ? objectOf([...Object.entries(object), [SWITCH, true]]) : object;
}

function writeLeaf(value: unknown, shape: LeafShape): CtyValue {
  switch (shape.spelling) {
    case 'zero-is-false':
      return value === false ? 0 : plain(value);
    case 'none-is-false':
      return value === false ? 'none' : plain(value);
    case 'digits-are-number':
      return String(value);
    case 'texts':
      return objectOf(Object.entries(treeOf(value)).map(([name, item]) => [name, String(item)]));
    case 'true-or-nothing':
    case 'same':
      return plain(value);
    default:
      return assertNever(shape.spelling);
  }
}

function plain(value: unknown): CtyValue {
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number') return value;
  if (Array.isArray(value)) return value.map(plain);
  return objectOf(Object.entries(treeOf(value)).map(([name, item]) => [name, plain(item)]));
}

function treeOf(value: unknown): Tree {
  invariant(typeof value === 'object' && value !== null && !Array.isArray(value), 'A group of fields is a map.');
  return value as Tree; // checked
}
