/** An image that is sent from here, because the node has no way to it. */
import { createHash } from 'node:crypto';
import type { ImageSources } from '../../../../src/kinds/image/steps.ts';
import { type CloudOptions, cloudStack } from './stacks.ts';

/** Small, and for the server a qcow2 image of 2 GiB. */
const BYTES = Buffer.alloc(3_000_000, 'proxwright');
BYTES.writeUInt32BE(0x514649fb, 0);
BYTES.writeUInt32BE(3, 4);
BYTES.writeBigUInt64BE(2n ** 31n, 24);
const PIECE_BYTES = 500_000;
const SHA256 = createHash('sha256').update(BYTES).digest('hex');

export const SOURCES: ImageSources = () => ({
  prepare: async () => ({
    sizeBytes: BYTES.length,
    sha256: SHA256,
    async *open() {
      for (let start = 0; start < BYTES.length; start += PIECE_BYTES) yield BYTES.subarray(start, start + PIECE_BYTES);
    },
  }),
});

export function sentStack(options: CloudOptions = {}): string {
  return cloudStack(options).replace(/url: "[^"]*"/, 'path: ./noble.qcow2');
}
