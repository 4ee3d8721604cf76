/**
 * Answers in the shape of pveproxy: `{data}` for success, `{data: null, message, errors?}` for refusals, plain text for
 * requests that did not reach the router. The reason phrase is the first line of the message. Refusals are thrown as
 * `ApiFault`.
 * [source HS Formatter/Standard.pm, AnyEvent.pm response, error]
 */
import type { WireResponse } from '../../base/transport.ts';
import type { AnswerFormat, PlainFault } from './request.ts';

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
  /** Refusals have their text only in the reason phrase, and an empty body. */
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

/** A login that failed, or a missing CSRF token: only a reason phrase. The caller delays it by 3 s. */
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

/**
 * How handlers refuse: they throw an `ApiFault`, whose message has all the line feeds of the server's own.
 * [source PC Exception.pm; PM HTTPServer.pm rest_handler]
 */
export class ApiFault extends Error {
  readonly status: number;
  /** Errors by parameter. */
  readonly errors: Readonly<Record<string, string>> | undefined;

  constructor(status: number, message: string, errors?: Readonly<Record<string, string>>) {
    super(message);
    this.name = 'ApiFault';
    this.status = status;
    this.errors = errors;
  }

  /**
   * The same refusal met inside a worker: the status code first (a plain `die` has none), then the errors, with line
   * feeds replaced by blanks. [source PC RESTEnvironment.pm fork_worker]
   */
  asTaskError(): string {
    const head = this.status === 500 ? this.message : `${this.status} ${this.message}`;
    const complaints = Object.entries(this.errors ?? {}).map(([name, text]) => `${name}: ${text}\n`);
    return `${head}${head.endsWith('\n') ? '' : '\n'}${complaints.join('')}`.replace(/\n$/, '').replaceAll('\n', ' ');
  }
}

/** Invalid parameters: all errors at once. */
export function paramFault(errors: Readonly<Record<string, string>>): ApiFault {
  return new ApiFault(400, 'Parameter verification failed.\n', errors);
}

/** A privilege is missing; `what` is `/vms/100, VM.Audit`, or nothing where the server does not say. */
export function permFault(what = ''): ApiFault {
  return new ApiFault(403, what === '' ? 'Permission check failed\n' : `Permission check failed (${what})\n`);
}

/** Any other error: text without its final line feed. */
export function dieFault(text: string): ApiFault {
  return new ApiFault(500, `${text}\n`);
}

/** Proxmox VE has it and the simulator does not. */
export function notSimulated(method: string, path: string): ApiFault {
  return new ApiFault(501, `Method '${method} ${path}' is not simulated`);
}

/** The router knows no such method or path. The one message without a line feed. */
export function notImplemented(method: string, path: string): ApiFault {
  return new ApiFault(501, `Method '${method} ${path}' not implemented`);
}
