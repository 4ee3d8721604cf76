import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeUpload, UploadReader } from './multipart.ts';

const BOUNDARY = '----form+boundary.1';

function body(...parts: readonly [head: string, value: string][]): Uint8Array {
  const text = parts.map(([head, value]) => `--${BOUNDARY}\r\nContent-Disposition: ${head}\r\n\r\n${value}\r\n`);
  return Buffer.from(`${text.join('')}--${BOUNDARY}--\r\n`);
}

const field = (name: string, value: string): [string, string] => [`form-data; name="${name}"`, value];
const file = (name: string, value: string): [string, string] => [
  `form-data; name="filename"; filename="${name}"\r\nContent-Type: application/octet-stream`,
  value,
];

function decode(...parts: readonly [string, string][]) {
  const decoded = decodeUpload(body(...parts), BOUNDARY);
  if (!decoded.ok) return decoded.message;
  const content = Buffer.from(decoded.upload.content).toString();
  return { fields: Object.fromEntries(decoded.fields), fileName: decoded.upload.fileName, content };
}

describe('decodeUpload', () => {
  it('reads the fields in order and the file after them', () => {
    const parts = [
      field('content', 'iso'),
      field('checksum-algorithm', 'md5'),
      field('checksum', 'abc'),
      file('ü.iso', 'a\r\nb\n'),
    ];
    expect(decode(...parts)).toEqual({
      fields: { content: 'iso', 'checksum-algorithm': 'md5', checksum: 'abc' },
      fileName: 'ü.iso',
      content: 'a\r\nb\n',
    });
  });

  it('keeps bytes that are not text', () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    const head = Buffer.from(`--${BOUNDARY}\nContent-Disposition: form-data; name="filename"; filename="x"\n\n`);
    const decoded = decodeUpload(Buffer.concat([head, bytes, Buffer.from(`\n--${BOUNDARY}--`)]), BOUNDARY);
    expect(decoded.ok && Buffer.from(decoded.upload.content).equals(bytes)).toBe(true);
  });

  it('treats fields after the file as part of it', () => {
    const decoded = decode(file('a.iso', 'data'), field('content', 'iso'));
    expect(decoded).toMatchObject({ fields: {}, fileName: 'a.iso' });
    expect(decoded).toHaveProperty('content', expect.stringContaining('name="content"'));
  });

  it('fails on a checksum before its algorithm', () => {
    const parts = [
      field('content', 'iso'),
      field('checksum', 'abc'),
      field('checksum-algorithm', 'md5'),
      file('a.iso', 'data'),
    ];
    expect(decode(...parts)).toMatch(/^wrong Content-Disposition 'form-data; name="checksum"\r\n/);
  });

  it('requires the file under the name filename', () => {
    expect(decode(['form-data; name="file"; filename="a.iso"', 'data'])).toBe(
      "wrong field name 'file' for file upload, expected 'filename' at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 1325.\n",
    );
  });

  it('fails without a file', () => {
    const message = 'upload failed at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 1370.\n';
    expect(decode(field('content', 'iso'))).toBe(message);
    expect(decodeUpload(Buffer.from('nothing of the kind'), BOUNDARY)).toEqual({ ok: false, message });
  });

  it('does not care where the pieces of the body begin and end', () => {
    const content = `first\r\n--${BOUNDARY.slice(0, 8)}\r\nsecond\n`;
    const whole = body(field('content', 'iso'), field('checksum-algorithm', 'md5'), file('a.iso', content));
    const expected = decodeUpload(whole, BOUNDARY);
    expect(expected).toMatchObject({ ok: true, upload: { sizeBytes: content.length } });
    for (const size of [1, 2, 3, 7, 19, 64, 1000]) {
      const reader = new UploadReader(BOUNDARY);
      for (let at = 0; at < whole.length; at += size) reader.write(whole.subarray(at, at + size));
      expect(reader.end()).toEqual(expected);
    }
  });

  it('finds the end of a large file in pieces, and keeps its beginning and its checksums', () => {
    const content = Buffer.alloc(6 * 1024 * 1024, 'proxwright\r\n--');
    const whole = body(field('content', 'iso'), file('a.iso', content.toString('latin1')));
    for (const size of [65_536, 1_000_003]) {
      const reader = new UploadReader(BOUNDARY);
      for (let at = 0; at < whole.length; at += size) reader.write(whole.subarray(at, at + size));
      const decoded = reader.end();
      if (!decoded.ok) throw new Error(decoded.message);
      expect(decoded.upload.sizeBytes).toBe(content.length);
      expect(decoded.upload.checksums.sha256).toBe(createHash('sha256').update(content).digest('hex'));
      expect(content.subarray(0, decoded.upload.content.length).equals(decoded.upload.content)).toBe(true);
    }
  });
});
