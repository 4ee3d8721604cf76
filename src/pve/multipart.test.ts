import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../base/random.ts';
import { isStreamBody } from '../base/transport.ts';
import { encodeMultipart } from './multipart.ts';

const FIELDS = [
  ['content', 'import'],
  ['checksum-algorithm', 'sha256'],
  ['checksum', 'ab'],
] as const;
const BYTES = Buffer.from('the image');

async function collected(content: ReturnType<typeof encodeMultipart>['content']): Promise<string> {
  if (!isStreamBody(content)) return Buffer.from(content).toString();
  const chunks: Uint8Array[] = [];
  for await (const chunk of content.open()) chunks.push(chunk);
  const whole = Buffer.concat(chunks);
  expect(whole.byteLength).toBe(content.sizeBytes);
  return whole.toString();
}

const streamed = {
  sizeBytes: BYTES.byteLength,
  async *open() {
    for (const byte of BYTES) yield Buffer.of(byte);
  },
};

describe('the envelope of an upload', () => {
  it('has the fields in order and the file last, under the name that Proxmox expects', async () => {
    const { content, contentType } = encodeMultipart(seededRandom(1), FIELDS, { name: 'a.qcow2', bytes: streamed });
    const text = await collected(content);
    const names = [...text.matchAll(/name="([^"]+)"/g)].map(([, name]) => name);
    expect(names).toEqual(['content', 'checksum-algorithm', 'checksum', 'filename', 'a.qcow2']);
    const boundary = contentType.split('boundary=')[1] ?? '';
    expect(text.endsWith(`the image\r\n--${boundary}--\r\n`)).toBe(true);
  });

  it('is the same for a stream as for bytes, and for every reading of the stream', async () => {
    const fromBytes = encodeMultipart(seededRandom(1), FIELDS, { name: 'a.qcow2', bytes: BYTES });
    const fromStream = encodeMultipart(seededRandom(1), FIELDS, { name: 'a.qcow2', bytes: streamed });
    expect(fromStream.contentType).toBe(fromBytes.contentType);
    const text = await collected(fromBytes.content);
    expect(await collected(fromStream.content)).toBe(text);
    expect(await collected(fromStream.content)).toBe(text);
  });

  it.each(['a"b.iso', 'a\r\nb.iso', 'a/b.iso', ''])('rejects the name %j', (name) => {
    expect(() => encodeMultipart(seededRandom(1), FIELDS, { name, bytes: BYTES })).toThrow('is not a file name');
  });
});
