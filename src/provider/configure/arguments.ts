/** Attributes that only a user sets, and how to read them by their table: for the provider itself and for data sources. */
import type { z } from 'zod';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { Findings } from '../../spec/problems/findings.ts';
import { checkShape } from '../../spec/problems/issues.ts';
import type { CtyObject } from '../cty/value.ts';
import type { Attribute, Attributes, AttributeType } from '../schema/model.ts';
import { groupShape } from '../schema/shape.ts';
import { toFields } from '../values/to-fields.ts';

/** The attributes of a table for which no server fills in what is left out. */
export function asArguments(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).map(([name, each]) => [name, asArgument(each)]));
}

function asArgument(attribute: Attribute): Attribute {
  const { sensitive, deprecated } = attribute;
  return {
    type: inside(attribute.type),
    given: attribute.given === 'required' ? 'required' : 'optional',
    // Most processes never ask for it.
    get description() {
      return attribute.description;
    },
    ...(sensitive && { sensitive }),
    ...(deprecated && { deprecated }),
  };
}

function inside(type: AttributeType): AttributeType {
  return type.kind === 'value' ? type : { ...type, attributes: asArguments(type.attributes) };
}

export interface Arguments<Table extends z.ZodType> {
  /** Without the unknown values; undefined where something is invalid. */
  readonly value: z.output<Table> | undefined;
  /** As a stack file would write it. */
  readonly tree: Readonly<Record<string, unknown>>;
  /** Dotted paths of what is known only after apply. */
  readonly unknown: ReadonlySet<string>;
  readonly problems: readonly Diagnostic[];
}

/** Reports every problem at its field. Unknown values are not checked. */
export function readArguments<Table extends z.ZodType>(
  table: Table,
  config: CtyObject,
  subject: string,
): Arguments<Table> {
  const { located, tree, unknown, problems } = toFields(config, groupShape(table));
  const findings = new Findings();
  for (const { path, detail } of problems) findings.add({ code: 'BAD_VALUE', detail, where: { field: path } });
  const value = checkShape(table, located, { subject, keyAt: {}, findings });
  return { value, tree, unknown: new Set(unknown), problems: findings.list() };
}

export function badValue(fieldPath: string, detail: string, hint?: string): ProxwrightError {
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: { field: fieldPath },
    detail,
    ...(hint !== undefined && { hint }),
  });
}
