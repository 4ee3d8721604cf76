/** What the host keeps for an image without showing it: what the storage told of the file when it was brought. */
import { z } from 'zod';
import { fileRecordSchema } from '../../kinds/image/record.ts';
import type { PrivateState } from '../provider.ts';

const VERSION = 1;

const schema = z.object({
  version: z.literal(VERSION),
  file: fileRecordSchema,
  /** It was not there before; only then it goes with its resource. */
  brought: z.boolean(),
  /** All nodes see the same storage. */
  shared: z.boolean(),
  /** Somebody else has written to it since. */
  changed: z.literal(true).optional(),
});

export type ImagePrivate = Omit<z.output<typeof schema>, 'version'>;

/** What cannot be read is as if it had never been written: the file then counts as nobody's of ours. */
export function readPrivate(bytes: PrivateState): ImagePrivate | undefined {
  if (!bytes || bytes.length === 0) return undefined;
  try {
    return schema.safeParse(JSON.parse(new TextDecoder().decode(bytes))).data;
  } catch {
    return undefined;
  }
}

export function writePrivate(content: ImagePrivate): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ version: VERSION, ...content }));
}
