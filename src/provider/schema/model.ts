/** The schema of a resource, a data source or the provider itself, as the protocol knows it. */
import type { CtyType } from '../cty/value.ts';

export interface Schema {
  /** Raised when stored data must be migrated. */
  readonly version: number;
  /** Markdown. */
  readonly description: string;
  readonly attributes: Attributes;
}

export type Attributes = Readonly<Record<string, Attribute>>;

export interface Attribute {
  readonly type: AttributeType;
  /** Which side sets the value: required from the user; optional; the user or the server; only the server. */
  readonly given: 'required' | 'optional' | 'optional-computed' | 'computed';
  /** Markdown. */
  readonly description: string;
  readonly sensitive?: true;
  readonly writeOnly?: true;
  readonly deprecated?: true;
}

export type AttributeType =
  | { readonly kind: 'value'; readonly type: CtyType }
  | { readonly kind: 'nested'; readonly nesting: 'single' | 'list' | 'map'; readonly attributes: Attributes };

/** An attribute that only the server fills in. */
export function computed(type: CtyType, description: string): Attribute {
  return { type: { kind: 'value', type }, given: 'computed', description };
}

/** The type of a value with these attributes. */
export function objectType(attributes: Attributes): CtyType {
  const entries = Object.entries(attributes).map(([name, { type }]): [string, CtyType] => [name, typeOf(type)]);
  return ['object', Object.fromEntries(entries)];
}

function typeOf(type: AttributeType): CtyType {
  if (type.kind === 'value') return type.type;
  const inner = objectType(type.attributes);
  return type.nesting === 'single' ? inner : [type.nesting, inner];
}
