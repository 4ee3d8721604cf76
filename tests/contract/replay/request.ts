/** Turns the recorded description of a request into bytes: target, headers and body. `session.ts` adds the identity. */
import type { WireRequest } from '../../../src/base/transport.ts';
import { isList, type Json, type JsonObject, type MultipartPart, type RequestParts } from './types.ts';

const API_ROOT = '/api2/json';

const FORM = 'application/x-www-form-urlencoded';
const BOUNDARY = '----proxwrightcontract5f3a9c17';

/** `parts` has its placeholders filled in already. */
/** A recorded body is always there as a whole. */
export interface WholeRequest extends Omit<WireRequest, 'body'> {
  readonly body?: Uint8Array | string;
}

export function buildRequest(parts: RequestParts, authHeaders: Readonly<Record<string, string>>): WholeRequest {
  const { query, contentType, body } = encode(parts);
  const headers: Record<string, string> = { ...authHeaders };
  if (contentType !== undefined) headers['content-type'] = contentType;
  if (body !== undefined) {
    if (parts.chunked) headers['transfer-encoding'] = 'chunked';
    else headers['content-length'] = String(Buffer.byteLength(body));
  }
  return {
    method: parts.method,
    target: API_ROOT + encodeUpids(parts.path) + query,
    headers,
    ...(body !== undefined && { body }),
  };
}

interface Encoded {
  readonly query: string;
  readonly contentType?: string;
  readonly body?: Uint8Array | string;
}

function encode(parts: RequestParts): Encoded {
  switch (parts.encoding) {
    case 'json':
      return { query: '', contentType: 'application/json', body: JSON.stringify(parts.params ?? {}) };
    case 'raw':
      return { query: '', contentType: parts.contentType ?? '', body: parts.raw ?? '' };
    case 'multipart':
      return {
        query: '',
        contentType: `multipart/form-data; boundary=${BOUNDARY}`,
        body: multipart(parts.parts ?? []),
      };
    default:
      return encodeByMethod(parts);
  }
}

function encodeByMethod(parts: RequestParts): Encoded {
  const text = form(parts.params ?? {});
  if (parts.method === 'GET' || parts.method === 'DELETE') return { query: text === '' ? '' : `?${text}` };
  return { query: '', contentType: FORM, body: text };
}

/** `key=value&…`; a list repeats its key. */
function form(params: JsonObject): string {
  return Object.entries(params)
    .flatMap(([key, value]) => (isList(value) ? value : [value]).map((one) => [key, one] as const))
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(asText(value))}`)
    .join('&');
}

function multipart(parts: readonly MultipartPart[]): Uint8Array {
  const chunks = parts.flatMap((part) => {
    const file =
      part.filename === undefined ? '' : `; filename="${part.filename}"\r\nContent-Type: application/octet-stream`;
    return [
      Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${part.name}"${file}\r\n\r\n`),
      part.fill ? Buffer.alloc(part.fill.size, part.fill.byte) : Buffer.from(asText(part.value ?? '')),
      Buffer.from('\r\n'),
    ];
  });
  return Buffer.concat([...chunks, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

const asText = (value: Json) => (typeof value === 'string' ? value : String(value));

/** A UPID inside a path has colons and at signs that must not reach the request line bare. */
const encodeUpids = (path: string) => path.replace(/UPID:[^/?]+/g, (upid) => encodeURIComponent(upid));
