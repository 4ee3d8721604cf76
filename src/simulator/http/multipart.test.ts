import { describe, expect, it } from 'vitest';
import { decodeUpload } from './multipart.ts';

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
  it('reads the fields in their order and the file behind them', () => {
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

  it('takes fields behind the file for a part of it', () => {
    const decoded = decode(file('a.iso', 'data'), field('content', 'iso'));
    expect(decoded).toMatchObject({ fields: {}, fileName: 'a.iso' });
    expect(decoded).toHaveProperty('content', expect.stringContaining('name="content"'));
  });

  it('stumbles over a checksum before its algorithm', () => {
    const parts = [
      field('content', 'iso'),
      field('checksum', 'abc'),
      field('checksum-algorithm', 'md5'),
      file('a.iso', 'data'),
    ];
    expect(decode(...parts)).toMatch(/^wrong Content-Disposition 'form-data; name="checksum"\r\n/);
  });

  it('wants the file under the name filename', () => {
    expect(decode(['form-data; name="file"; filename="a.iso"', 'data'])).toBe(
      "wrong field name 'file' for file upload, expected 'filename' at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 1325.\n",
    );
  });

  it('fails without a file', () => {
    const message = 'upload failed at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 1370.\n';
    expect(decode(field('content', 'iso'))).toBe(message);
    expect(decodeUpload(Buffer.from('nothing of the kind'), BOUNDARY)).toEqual({ ok: false, message });
  });
});
