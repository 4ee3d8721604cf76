/** What the host keeps for a template without showing it: what was applied, and earlier versions that still stand. */
import { z } from 'zod';
import { appliedSchema } from '../../kinds/vm/record.ts';
import type { PrivateState } from '../provider.ts';

const VERSION = 1;

const versionSchema = z.object({ vmid: z.number().int(), uuid: z.string(), node: z.string() });

const schema = z.object({
  version: z.literal(VERSION),
  /** Dotted paths of attributes that the configuration set when it was last applied. */
  managed: z.array(z.string()),
  /** Field path → value, as the engine remembers it. */
  applied: appliedSchema,
  /** Versions before this one. */
  retired: z.array(versionSchema),
  /** Somebody else made it, from the same recipe: whose it is, it stays. */
  owner: z.string().optional(),
  /** It is no longer what it was made as. */
  changed: z.literal(true).optional(),
});

export type TemplatePrivate = Omit<z.output<typeof schema>, 'version'>;
export type RetiredVersion = z.output<typeof versionSchema>;

const NOTHING: TemplatePrivate = { managed: [], applied: {}, retired: [] };

export function readPrivate(bytes: PrivateState): TemplatePrivate {
  if (!bytes || bytes.length === 0) return NOTHING;
  try {
    return schema.safeParse(JSON.parse(new TextDecoder().decode(bytes))).data ?? NOTHING;
  } catch {
    return NOTHING;
  }
}

export function writePrivate(content: TemplatePrivate): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ version: VERSION, ...content }));
}
