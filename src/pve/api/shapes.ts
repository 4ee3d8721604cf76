/**
 * The small shapes that answers are made of. Perl does not tell numbers from digits, so either may come; `null` stands
 * for "absent". Objects keep the keys that we do not know.
 */
import { z } from 'zod';
import { fromWireBoolean } from '../wire/boolean.ts';
import { isNodeName, type NodeName, parseVmid, type Vmid } from '../wire/ids.ts';
import { isUpid, type Upid } from '../wire/upid.ts';

/** A value or nothing; `null` is taken for nothing. */
export function maybe<T>(schema: z.ZodType<T>) {
  return z
    .union([schema, z.null()])
    .optional()
    .transform((value) => value ?? undefined);
}

export const numeric = z.union([z.number(), z.string().regex(/^-?\d+(\.\d+)?([eE][-+]?\d+)?$/)]).transform(Number);

/** Texts that may look like numbers: names, versions, sums. */
export const text = z.union([z.string(), z.number()]).transform(String);

export const flag = z.unknown().transform((value, context) => {
  const decoded = fromWireBoolean(value);
  if (decoded === undefined) context.addIssue({ code: 'custom', message: 'expected 0 or 1' });
  return decoded ?? false;
});

export const vmidShape = z.unknown().transform((value, context): Vmid => {
  const vmid = parseVmid(value);
  if (vmid === undefined) context.addIssue({ code: 'custom', message: 'expected a VM id' });
  return vmid ?? z.NEVER;
});

export const nodeShape = z.string().transform((value, context): NodeName => {
  if (isNodeName(value)) return value;
  context.addIssue({ code: 'custom', message: 'expected a node name' });
  return z.NEVER;
});

export const upidShape = z.unknown().transform((value, context): Upid => {
  if (isUpid(value)) return value;
  context.addIssue({ code: 'custom', message: 'expected a UPID' });
  return z.NEVER;
});

/** A comma list in random order, such as the content types of a storage. */
export const commaList = z.string().transform((value) => value.split(',').filter(Boolean).sort());

/** An answer whose content nobody reads. */
export const anything = z.unknown().transform(() => undefined);
