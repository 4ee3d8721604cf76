/**
 * Schemas that several endpoints share. Perl does not distinguish numbers from digits, so a response may contain either;
 * `null` means "absent". Objects keep unknown keys. Schemas of answers are built when the first answer comes (`z.lazy`): a run needs
 * few of them, and building all of them takes a good part of a start.
 */

import { z } from 'zod';
import { isNodeName, isUpid, type NodeName, parseVmid, type Upid, type Vmid } from '../wire/ids.ts';
import { fromWireBoolean } from '../wire/scalars.ts';

/** Optional; `null` counts as absent. */
export function maybe<T>(schema: z.ZodType<T>) {
  return z
    .union([schema, z.null()])
    .optional()
    .transform((value) => value ?? undefined);
}

export const numeric = z.union([z.number(), z.string().regex(/^-?\d+(\.\d+)?([eE][-+]?\d+)?$/)]).transform(Number);

/** Text that may look like a number: names, versions, checksums. */
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

/** A comma-separated list in random order, such as the content types of a storage. */
export const commaList = z.string().transform((value) => value.split(',').filter(Boolean).sort());

/** A response whose content is not used. */
export const anything = z.unknown().transform(() => undefined);

/** `/version` and `/nodes/{node}/version`: need a login but no privilege. */
export const versionSchema = z
  .looseObject({ version: z.string(), release: z.string() })
  .transform((answer) => ({ ...answer, major: Number.parseInt(answer.version, 10) }));

/** `major` selects the privileges and endpoints of 8 or 9. */
export type PveVersion = z.output<typeof versionSchema>;
