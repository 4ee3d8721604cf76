/**
 * Decodes a request as pveproxy does, up to the point where the router takes over: method, path, format, parameters.
 * Faults come in two stages, because the login is checked between them: a wrong method is refused without a login, a
 * wrong body only after it. [source HS AnyEvent.pm process_header, authenticate_and_handle_request,
 * handle_api2_request, extract_params]
 */
import type { Method, WireRequest } from '../../base/transport.ts';
import type { RawParams, RawValue } from '../schema/types.ts';
import { decodeForm, decodeJson, percentDecode } from './body-formats.ts';
import { type DecodedUpload, decodeUpload, type Upload } from './multipart.ts';

export type AnswerFormat = 'json' | 'extjs';

/** Where the request goes. Known before the login is checked, which depends on it. */
export interface RequestTarget {
  readonly method: Method;
  /** Below the format, percent-decoded, as it shows in messages: `/nodes/pve1`. */
  readonly path: string;
  readonly segments: readonly string[];
}

/** An answer without JSON: the body is the message, or nothing. */
export interface PlainFault {
  readonly status: number;
  readonly message: string;
  readonly hasBody: boolean;
}

export type DecodedRequest =
  | {
      readonly kind: 'call';
      readonly target: RequestTarget;
      readonly format: AnswerFormat;
      readonly params: RawParams;
      readonly upload: Upload | undefined;
    }
  /** Refused before the caller is authenticated. */
  | { readonly kind: 'refusedAtOnce'; readonly fault: PlainFault }
  /** Refused, but only after a successful login for the target. */
  | { readonly kind: 'refusedAfterLogin'; readonly target: RequestTarget; readonly fault: PlainFault }
  /** After the login: no answer at all; the connection is closed when it has been idle for its 5 s. */
  | { readonly kind: 'unanswered'; readonly target: RequestTarget };

const BASE = '/api2';
/** Rule [source HS AnyEvent.pm limit_max_post of 5.2.1]: of a form or of JSON; an upload has no limit. */
export const LARGEST_BODY_BYTES = 512 * 1024;
const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'DELETE'];
const FORMATS: readonly AnswerFormat[] = ['json', 'extjs'];
const UPLOAD_PATH = /^\/nodes\/[^/]+\/storage\/[^/]+\/upload$/;
const SOURCE_FILE = '/usr/share/perl5/PVE/APIServer/AnyEvent.pm';

/** A request that has arrived, with its body as bytes or, of an upload, already taken apart. */
export interface ArrivedRequest extends Omit<WireRequest, 'body'> {
  readonly body?: Uint8Array | string | undefined;
  readonly upload?: DecodedUpload | undefined;
}

/** The boundary of the parts, if this is an upload that will be read at all. */
export function uploadBoundary(request: Pick<WireRequest, 'method' | 'target' | 'headers'>): string | undefined {
  const [rawPath = '', query = ''] = splitTarget(request.target);
  const [, path = ''] = /^\/api2\/+[a-z][a-z0-9]+(\/.*)$/.exec(percentDecode(rawPath)) ?? [];
  if (request.method !== 'POST' || !UPLOAD_PATH.test(path) || request.headers['transfer-encoding']) return undefined;
  if (decodeForm(query).has('tmpfilename')) return undefined;
  const { type, boundary } = parseContentType(request.headers['content-type']);
  return type === 'multipart/form-data' ? boundary : undefined;
}

export function decodeRequest(request: ArrivedRequest, largestBodyBytes = LARGEST_BODY_BYTES): DecodedRequest {
  const method = METHODS.find((known) => known === request.method);
  if (method === undefined) {
    const message = `method '${request.method}' not available`;
    return { kind: 'refusedAtOnce', fault: { status: 501, message, hasBody: false } };
  }
  const encoding = request.headers['transfer-encoding'];
  if (encoding) {
    const isChunked = encoding.toLowerCase() === 'chunked';
    const message = isChunked ? 'chunked transfer encoding not supported' : `Unknown transfer encoding '${encoding}'`;
    return { kind: 'refusedAtOnce', fault: plain(501, message) };
  }
  const [rawPath = '', query = ''] = splitTarget(request.target);
  const path = percentDecode(rawPath);
  if (!path.startsWith(BASE)) return { kind: 'refusedAtOnce', fault: plain(500, `no such file '${path}'\n`) };
  const [, format, relative = '/'] = /^\/api2\/+([a-z][a-z0-9]+)(\/.*)?$/.exec(path) ?? [];
  if (format === undefined) return { kind: 'refusedAtOnce', fault: plain(501, 'no such uri') };
  const target: RequestTarget = { method, path: relative, segments: relative.split('/').filter((part) => part !== '') };
  return decodeAfterLogin(request, target, format, query, largestBodyBytes);
}

function decodeAfterLogin(
  request: ArrivedRequest,
  target: RequestTarget,
  formatName: string,
  query: string,
  largestBodyBytes: number,
): DecodedRequest {
  const refuse = (status: number, message: string): DecodedRequest => ({
    kind: 'refusedAfterLogin',
    target,
    fault: plain(status, message),
  });
  const body = typeof request.body === 'string' ? Buffer.from(request.body) : (request.body ?? new Uint8Array());
  const hasContent = body.length > 0 || request.upload !== undefined;
  const contentType = request.headers['content-type'];
  const { type, boundary } = parseContentType(contentType);
  const mayHaveBody = target.method === 'POST' || target.method === 'PUT';
  if (hasContent && !mayHaveBody) return refuse(501, `Unexpected content for method '${target.method}'`);
  const isUpload = hasContent && target.method === 'POST' && UPLOAD_PATH.test(target.path);
  if (isUpload && (type !== 'multipart/form-data' || boundary === undefined)) return { kind: 'unanswered', target };
  if (hasContent && !isUpload) {
    if (body.length > largestBodyBytes) return refuse(501, 'for data too large');
    if (type !== undefined && type !== 'application/x-www-form-urlencoded' && type !== 'application/json') {
      return refuse(506, `upload 'Content-Type '${contentType}' not implemented`);
    }
  }
  const format = FORMATS.find((known) => known === formatName);
  const unknownFormat = `no formatter for uri ${target.path}, ${formatName}`;
  const params = decodeForm(query);
  let upload: Upload | undefined;
  if (isUpload) {
    if (params.has('tmpfilename')) return { kind: 'unanswered', target };
    const decoded = request.upload ?? decodeUpload(body, boundary ?? '');
    if (!decoded.ok) return refuse(500, decoded.message);
    for (const [name, value] of decoded.fields) params.set(name, value);
    upload = decoded.upload;
    params.set('filename', upload.fileName);
    if (format === undefined) return refuse(501, unknownFormat);
  } else {
    if (format === undefined) return refuse(501, unknownFormat);
    const decoded: DecodedBody = mayHaveBody ? decodeBody(body, type) : { ok: true, params: [] };
    if (!decoded.ok) return refuse(500, decoded.message);
    // The query wins over the body.
    for (const [name, value] of decoded.params) if (!params.has(name)) params.set(name, value);
  }
  params.delete('_dc'); // sent by browsers to defeat caches
  return { kind: 'call', target, format, params: Object.fromEntries(params), upload };
}

type DecodedBody =
  | { readonly ok: true; readonly params: Iterable<[string, RawValue]> }
  | { readonly ok: false; readonly message: string };

function decodeBody(body: Uint8Array, type: string | undefined): DecodedBody {
  const bytes = Buffer.from(body);
  if (type !== 'application/json') return { ok: true, params: decodeForm(bytes.toString('latin1')) };
  const decoded = decodeJson(bytes.toString('utf8'));
  if (!decoded.ok) return { ok: false, message: `${decoded.message} at ${SOURCE_FILE} line 934.\n` };
  const { value } = decoded;
  if (value === null) return { ok: true, params: [] };
  if (typeof value === 'object' && !Array.isArray(value)) return { ok: true, params: Object.entries(value) };
  const isText = typeof value === 'string' || typeof value === 'number';
  const complaint = isText
    ? `Can't use string ("${cutTo32(String(value))}) as a HASH ref while "strict refs" in use`
    : 'Not a HASH reference';
  return { ok: false, message: `${complaint} at ${SOURCE_FILE} line 978.\n` };
}

/** As Perl quotes values in its own complaints. */
function cutTo32(text: string): string {
  return text.length > 32 ? `${text.slice(0, 32)}"...` : `${text}"`;
}

function splitTarget(target: string): string[] {
  const withoutFragment = target.split('#')[0] ?? '';
  const mark = withoutFragment.indexOf('?');
  return mark < 0 ? [withoutFragment] : [withoutFragment.slice(0, mark), withoutFragment.slice(mark + 1)];
}

function parseContentType(header: string | undefined): { type: string | undefined; boundary: string | undefined } {
  if (!header) return { type: undefined, boundary: undefined };
  const [type, ...parameters] = header.split(/\s*[;,]\s*/);
  const boundary = parameters.map((text) => /^\s*boundary\s*=\s*(\S+?)\s*$/.exec(text)?.[1]).find(Boolean);
  return { type: type === '' ? undefined : type, boundary };
}

function plain(status: number, message: string): PlainFault {
  return { status, message, hasBody: true };
}
