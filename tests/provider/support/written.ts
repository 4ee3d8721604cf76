/** Fields of a VM, as the engine has them, in the words of a configuration. */
import { z } from 'zod';
import { printByteSize } from '../../../src/base/values/units.ts';
import type { VmFields } from '../../../src/kinds/vm/fields/index.ts';
import type { CtyObject } from '../../../src/provider/cty/value.ts';
import { USER_ATTRIBUTES } from '../../../src/provider/kinds/vm/schema.ts';
import { VM_SHAPE } from '../../../src/provider/kinds/vm/shape.ts';
import type { Shape } from '../../../src/provider/schema/shape.ts';
import { fromFields } from '../../../src/provider/values/from-fields.ts';
import type { Config } from './toy-host.ts';

export function configOf(fields: VmFields): Config {
  return withoutNulls(fromFields(written(VM_SHAPE, fields) as Record<string, unknown>, USER_ATTRIBUTES, VM_SHAPE));
}

function written(shape: Shape, value: unknown): unknown {
  if (value === undefined) return undefined;
  if (shape.kind === 'leaf')
    return shape.type === 'string' && typeof value === 'number' ? unitText(shape.schema, value) : value;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]) => {
    const below = shape.kind === 'slots' ? shape.item : shape.fields[name];
    return [name, below ? written(below, inner) : inner];
  });
  return Object.fromEntries(entries);
}

/** A size or a duration; which, its own schema knows. */
function unitText(schema: z.core.$ZodType, value: number): unknown {
  const texts = [printByteSize(value), `${value / 1000}s`];
  return texts.find((text) => z.safeParse(schema, text).data === value) ?? value;
}

function withoutNulls(object: CtyObject): Config {
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, value]) => {
      if (value === null) return [];
      const isGroup = typeof value === 'object' && !Array.isArray(value);
      return [[name, isGroup ? withoutNulls(value as CtyObject) : value]];
    }),
  );
}
