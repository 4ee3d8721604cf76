/**
 * Reads an upload the way pveproxy does: not as a list of parts, but by looking for `content`, `checksum-algorithm`
 * and `checksum` in this order and then for the file, whatever else there is. A part out of order is swallowed by its
 * neighbour, with the odd answers that follow. [source HS AnyEvent.pm file_upload_multipart]
 */
import { utf8 } from './form-body.ts';

export interface Upload {
  readonly fileName: string;
  readonly content: Uint8Array;
}

export type DecodedUpload =
  | { readonly ok: true; readonly fields: ReadonlyMap<string, string>; readonly upload: Upload }
  /** Perl's last words, as the body of a 500. */
  | { readonly ok: false; readonly message: string };

const FIELDS = ['content', 'checksum-algorithm', 'checksum'];
const WHERE = 'at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line';

export function decodeUpload(body: Uint8Array, boundary: string): DecodedUpload {
  const delimiter = `--${escapeForRegExp(boundary)}\\r?\\n`;
  let rest = Buffer.from(body).toString('latin1');
  rest = rest.slice(Math.max(0, rest.search(new RegExp(delimiter))));
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
  return readFile(rest, delimiter, boundary, fields);
}

function readFile(
  rest: string,
  delimiter: string,
  boundary: string,
  fields: ReadonlyMap<string, string>,
): DecodedUpload {
  const head = new RegExp(`^${delimiter}Content-Disposition: ([^]*?); name="([^]*?)"; filename="([^"]+)"`).exec(rest);
  const closing = `--${boundary}--`;
  if (!head) return { ok: false, message: `upload failed ${WHERE} 1370.\n` };
  const [all, disposition = '', fieldName = '', fileName = ''] = head;
  const complaint = wrongDisposition(disposition);
  if (complaint !== undefined) return { ok: false, message: complaint };
  if (fieldName !== 'filename') {
    const text = `wrong field name '${fieldName}' for file upload, expected 'filename'`;
    return { ok: false, message: `${text} ${WHERE} 1325.\n` };
  }
  const data = withoutPartHeaders(rest.slice(all.length));
  const end = data.indexOf(closing);
  if (end < 0) return { ok: false, message: `upload failed ${WHERE} 1370.\n` };
  const content = data.slice(0, end).replace(/\r?\n$/, '');
  return {
    ok: true,
    fields,
    upload: { fileName: utf8(fileName.trim()), content: Buffer.from(content, 'latin1') },
  };
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
