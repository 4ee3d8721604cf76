/**
 * Answers in the shape of pveproxy: `{data}` for success, `{data: null, message, errors?}` for refusals, plain text for
 * what never reached the router. The reason phrase is the first line of the message.
 * [source HS Formatter/Standard.pm, AnyEvent.pm response, error]
 */
import type { WireResponse } from '../../base/transport.ts';
import type { ApiFault } from './fault.ts';
import type { AnswerFormat, PlainFault } from './request.ts';

export { ApiFault, dieFault, notImplemented, paramFault, permFault } from './fault.ts';

const JSON_TYPE = 'application/json;charset=UTF-8';
const DEFAULT_REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  500: 'Internal Server Error',
  501: 'Not Implemented',
};

export interface AnswerOptions {
  /** For `Date` and `Expires`. */
  readonly nowMs: number;
  readonly format?: AnswerFormat;
  /** Number of all entries, where `data` is a page of them. Zero is not shown. */
  readonly total?: number;
  /** Refusals say what is wrong in the reason phrase only, and their bodies are silent. */
  readonly isTerse?: boolean;
}

export function successResponse(data: unknown, options: AnswerOptions): WireResponse {
  const content = {
    data: data ?? null,
    ...(options.format === 'extjs' ? { success: 1 } : {}),
    ...(options.total ? { total: options.total } : {}),
  };
  return respond(200, 'OK', JSON.stringify(content), options.nowMs, JSON_TYPE);
}

/** Rule [recorded tasks-filters-paging]: plain text with the name of a file. */
export function downloadResponse(filename: string, text: string, options: AnswerOptions): WireResponse {
  const response = respond(200, 'OK', text, options.nowMs, 'text/plain');
  return { ...response, headers: { ...response.headers, 'content-disposition': `attachment; filename="${filename}"` } };
}

export function faultResponse(fault: ApiFault, options: AnswerOptions): WireResponse {
  const errors = fault.errors !== undefined && Object.keys(fault.errors).length > 0 ? { errors: fault.errors } : {};
  const message = fault.message || (DEFAULT_REASONS[fault.status] ?? '');
  if (options.format === 'extjs') {
    // This format hides every refusal behind a 200.
    const content = { data: null, ...errors, message, status: fault.status, success: 0 };
    return respond(200, 'OK', JSON.stringify(content), options.nowMs, JSON_TYPE);
  }
  const content = { data: null, ...errors, ...(options.isTerse ? {} : { message }) };
  return respond(fault.status, message, JSON.stringify(content), options.nowMs, JSON_TYPE);
}

/** A refusal from before the router: no JSON. */
export function plainResponse(fault: PlainFault, options: AnswerOptions): WireResponse {
  const body = fault.hasBody && !options.isTerse ? fault.message : '';
  return respond(fault.status, fault.message, body, options.nowMs);
}

/** A login that failed, or a missing CSRF token: the reason phrase is all there is. The caller makes it 3 s late. */
export function loginRefusedResponse(message: string, options: AnswerOptions): WireResponse {
  return respond(401, message, '', options.nowMs);
}

function respond(status: number, message: string, body: string, nowMs: number, contentType?: string): WireResponse {
  const [firstLine = ''] = (message || (DEFAULT_REASONS[status] ?? '')).split('\n');
  // A carriage return would split the header, so such answers are replaced as a whole.
  if (firstLine.includes('\r')) return respond(400, '', '', nowMs, contentType);
  const date = new Date(nowMs).toUTCString();
  return {
    status,
    reason: firstLine,
    headers: {
      'cache-control': 'max-age=0',
      connection: status >= 400 ? 'close' : 'Keep-Alive',
      date,
      expires: date,
      pragma: 'no-cache',
      server: 'pve-api-daemon/3.0',
      ...(contentType === undefined ? {} : { 'content-type': contentType }),
      ...(body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    },
    body,
  };
}
