/**
 * Reads an upload the way pveproxy does: not as a list of parts, but by looking for `content`, `checksum-algorithm` and
 * `checksum` in this order and then for the file, whatever else there is. A part out of order becomes part of its
 * neighbour, with the odd answers that follow. The file itself is not kept: of a large one only its beginning, its
 * length and its checksums stay. [source HS AnyEvent.pm file_upload_multipart]
 */
import { createHash, type Hash } from 'node:crypto';
import { utf8 } from './body-formats.ts';

export interface Upload {
  readonly fileName: string;
  readonly sizeBytes: number;
  /** All of it up to 4 MiB, the beginning of anything larger. */
  readonly content: Uint8Array;
  /** SHA-256, and what the sender named. */
  readonly checksums: Readonly<Record<string, string>>;
}

export type DecodedUpload =
  | { readonly ok: true; readonly fields: ReadonlyMap<string, string>; readonly upload: Upload }
  /** Perl's last words, as the body of a 500. */
  | { readonly ok: false; readonly message: string };

const FIELDS = ['content', 'checksum-algorithm', 'checksum'];
const ALGORITHMS = new Set(['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512']);
const WHERE = 'at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line';
/** Everything in front of the file has to be in here. */
const HEAD_BYTES = 256 * 1024;
const KEPT_BYTES = 4 * 1024 * 1024;

const UPLOAD_FAILED = { ok: false as const, message: `upload failed ${WHERE} 1370.\n` };

export function decodeUpload(body: Uint8Array, boundary: string): DecodedUpload {
  const reader = new UploadReader(boundary);
  reader.write(body);
  return reader.end();
}

/** Takes the body in pieces of any size. */
export class UploadReader {
  readonly #boundary: string;
  #head: Uint8Array[] = [];
  #headBytes = 0;
  #parsed: ParsedHead | undefined;
  #file: FileReader | undefined;

  constructor(boundary: string) {
    this.#boundary = boundary;
  }

  write(chunk: Uint8Array): void {
    if (this.#parsed) {
      this.#file?.write(chunk);
      return;
    }
    this.#head.push(chunk);
    this.#headBytes += chunk.length;
    if (this.#headBytes >= HEAD_BYTES) this.#parseHead();
  }

  end(): DecodedUpload {
    const parsed = this.#parsed ?? this.#parseHead();
    if (!parsed.ok) return parsed;
    const file = this.#file?.end();
    if (!file) return UPLOAD_FAILED;
    return { ok: true, fields: parsed.fields, upload: { fileName: parsed.fileName, ...file } };
  }

  #parseHead(): ParsedHead {
    const [first] = this.#head;
    const bytes = this.#head.length === 1 && first ? first : Buffer.concat(this.#head);
    this.#head = [];
    const parsed = parseHead(bytes.subarray(0, HEAD_BYTES), this.#boundary);
    this.#parsed = parsed;
    if (parsed.ok) {
      this.#file = new FileReader(this.#boundary, parsed.fields.get('checksum-algorithm'));
      this.#file.write(bytes.subarray(parsed.headBytes));
    }
    return parsed;
  }
}

type ParsedHead =
  | {
      readonly ok: true;
      readonly fields: ReadonlyMap<string, string>;
      readonly fileName: string;
      /** Where the file begins. */
      readonly headBytes: number;
    }
  | { readonly ok: false; readonly message: string };

function parseHead(head: Uint8Array, boundary: string): ParsedHead {
  const delimiter = `--${escapeForRegExp(boundary)}\\r?\\n`;
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString('latin1');
  // Only ever cut off at its front, so that its length tells where it begins.
  let rest = text.slice(Math.max(0, text.search(new RegExp(delimiter))));
  const fields = new Map<string, string>();
  for (const name of FIELDS) {
    const part = new RegExp(`^${delimiter}[^]*?Content-Disposition: ([^]*?); name="${name}"([^]*?${delimiter})`).exec(
      rest,
    );
    if (!part) continue;
    const [all, disposition = '', remainder = ''] = part;
    const complaint = wrongDisposition(disposition);
    if (complaint !== undefined) return { ok: false, message: complaint };
    rest = withoutPartHeaders(remainder + rest.slice(all.length));
    const end = Math.max(0, rest.search(new RegExp(delimiter)));
    fields.set(name, utf8(rest.slice(0, end).trim()));
    rest = rest.slice(end);
  }
  const file = new RegExp(`^${delimiter}Content-Disposition: ([^]*?); name="([^]*?)"; filename="([^"]+)"`).exec(rest);
  if (!file) return UPLOAD_FAILED;
  const [all, disposition = '', fieldName = '', fileName = ''] = file;
  const complaint = wrongDisposition(disposition);
  if (complaint !== undefined) return { ok: false, message: complaint };
  if (fieldName !== 'filename') {
    const message = `wrong field name '${fieldName}' for file upload, expected 'filename'`;
    return { ok: false, message: `${message} ${WHERE} 1325.\n` };
  }
  rest = withoutPartHeaders(rest.slice(all.length));
  return { ok: true, fields, fileName: utf8(fileName.trim()), headBytes: text.length - rest.length };
}

/** The bytes up to the closing boundary, wherever the pieces happen to end. */
class FileReader {
  readonly #closing: Buffer;
  readonly #hashes: Map<string, Hash>;
  readonly #kept: Uint8Array[] = [];
  #sizeBytes = 0;
  /** The end of the received bytes: it may be the start of the boundary, or the line break before it. */
  #pending = Buffer.alloc(0);
  #isComplete = false;

  constructor(boundary: string, algorithm: string | undefined) {
    this.#closing = Buffer.from(`--${boundary}--`, 'latin1');
    const requested = algorithm !== undefined && ALGORITHMS.has(algorithm) ? ['sha256', algorithm] : ['sha256'];
    this.#hashes = new Map(requested.map((name) => [name, createHash(name)]));
  }

  write(chunk: Uint8Array): void {
    if (this.#isComplete) return;
    // The boundary can span two pieces: only that part is copied and searched.
    const reach = this.#closing.length + 2;
    const seam = Buffer.concat([this.#pending, chunk.subarray(0, reach)]);
    if (this.#finishAt(seam, seam.indexOf(this.#closing))) return;
    const bytes = chunk.length <= reach ? seam : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (chunk.length > reach) {
      this.#take(this.#pending);
      if (this.#finishAt(bytes, bytes.indexOf(this.#closing))) return;
    }
    const keptFrom = Math.max(0, bytes.length - reach);
    this.#take(bytes.subarray(0, keptFrom));
    this.#pending = Buffer.from(bytes.subarray(keptFrom));
  }

  #finishAt(bytes: Buffer, index: number): boolean {
    if (index < 0) return false;
    let end = index;
    if (end > 0 && bytes[end - 1] === 0x0a) end--;
    if (end > 0 && end < index && bytes[end - 1] === 0x0d) end--;
    this.#take(bytes.subarray(0, end));
    this.#isComplete = true;
    return true;
  }

  end(): Omit<Upload, 'fileName'> | undefined {
    if (!this.#isComplete) return undefined;
    const checksums = Object.fromEntries([...this.#hashes].map(([name, hash]) => [name, hash.digest('hex')]));
    return { sizeBytes: this.#sizeBytes, content: Buffer.concat(this.#kept), checksums };
  }

  #take(bytes: Uint8Array): void {
    for (const hash of this.#hashes.values()) hash.update(bytes);
    const room = KEPT_BYTES - this.#sizeBytes;
    // Copied: the sender may reuse the memory of the piece.
    if (room > 0) this.#kept.push(Buffer.from(bytes.subarray(0, room)));
    this.#sizeBytes += bytes.length;
  }
}

function wrongDisposition(disposition: string): string | undefined {
  if (disposition === 'form-data') return undefined;
  return `wrong Content-Disposition '${disposition}' in multipart, expected 'form-data'\n`;
}

/** Everything up to and including the first empty line; unchanged where there is none. */
function withoutPartHeaders(text: string): string {
  const match = /(?:\r?\n){2}/.exec(text);
  return match ? text.slice(match.index + match[0].length) : text;
}

function escapeForRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
