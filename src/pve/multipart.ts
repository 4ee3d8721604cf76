/** `multipart/form-data` for uploads. Proxmox reads it in order: fields first, the file last, under the name `filename`. */
import { Buffer } from 'node:buffer';
import { invariant } from '../base/errors.ts';
import { type Random, randomHex } from '../base/random.ts';
import { isStreamBody, type StreamBody } from '../base/transport.ts';

export interface Multipart {
  readonly contentType: string;
  /** Bytes if the file was given as bytes, otherwise a stream. */
  readonly content: Uint8Array | StreamBody;
}

export interface UploadFile {
  readonly name: string;
  readonly bytes: Uint8Array | StreamBody;
}

export function encodeMultipart(
  random: Random,
  fields: readonly (readonly [string, string])[],
  file: UploadFile,
): Multipart {
  // Other characters could end the header line or its quotes; Proxmox replaces them by "_" anyway.
  invariant(/^[\w.+-]+$/.test(file.name), `${JSON.stringify(file.name)} is not a file name that Proxmox accepts.`);
  const boundary = unusedBoundary(random, file.bytes);
  const part = (disposition: string, content: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${content}`;
  const fieldParts = fields.map(([name, value]) => part(`name="${name}"`, `\r\n${value}\r\n`)).join('');
  const filePart = part(`name="filename"; filename="${file.name}"`, 'Content-Type: application/octet-stream\r\n\r\n');
  const content = wrapped(Buffer.from(fieldParts + filePart), file.bytes, Buffer.from(`\r\n--${boundary}--\r\n`));
  return { contentType: `multipart/form-data; boundary=${boundary}`, content };
}

function wrapped(head: Uint8Array, bytes: UploadFile['bytes'], tail: Uint8Array): Multipart['content'] {
  if (!isStreamBody(bytes)) return Buffer.concat([head, bytes, tail]);
  return {
    sizeBytes: head.byteLength + bytes.sizeBytes + tail.byteLength,
    async *open() {
      yield head;
      yield* bytes.open();
      yield tail;
    },
  };
}

/** A stream cannot be searched beforehand; with 128 random bits it will not contain the boundary by chance. */
function unusedBoundary(random: Random, bytes: UploadFile['bytes']): string {
  for (;;) {
    const boundary = `proxwright-${randomHex(random, 32)}`;
    if (isStreamBody(bytes)) return boundary;
    if (!Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(boundary)) return boundary;
  }
}
