/** `multipart/form-data` for uploads. Proxmox reads it in order: fields first, the file last, under the name `filename`. */
import { Buffer } from 'node:buffer';
import { invariant } from '../base/assert.ts';
import { type Random, randomHex } from '../base/random.ts';

export interface Multipart {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

export interface UploadFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export function encodeMultipart(
  random: Random,
  fields: readonly (readonly [string, string])[],
  file: UploadFile,
): Multipart {
  // Anything that would end a header line or its quotes early; Proxmox maps such names to "_" anyway.
  invariant(/^[\w.+-]+$/.test(file.name), `${JSON.stringify(file.name)} is not a file name that Proxmox accepts.`);
  const boundary = unusedBoundary(random, file.bytes);
  const part = (disposition: string, content: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${content}`;
  const head = fields.map(([name, value]) => part(`name="${name}"`, `\r\n${value}\r\n`)).join('');
  const fileHead = part(`name="filename"; filename="${file.name}"`, 'Content-Type: application/octet-stream\r\n\r\n');
  const bytes = Buffer.concat([Buffer.from(head + fileHead), file.bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes };
}

function unusedBoundary(random: Random, bytes: Uint8Array): string {
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (;;) {
    const boundary = `proxwright-${randomHex(random, 32)}`;
    if (!content.includes(boundary)) return boundary;
  }
}
