/** One HTTP request of a shared store and its whole reply. Certificates are verified; redirects are not followed. */
import { Buffer } from 'node:buffer';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { gunzipSync } from 'node:zlib';

export interface Outgoing {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** PEM text of an authority that the system does not know. */
  readonly ca?: string | undefined;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Without a byte. */
const TIMEOUT_MS = 20_000;
/** For the whole exchange: a server may send a byte now and then for hours. */
const WHOLE_MS = 120_000;
const MAX_BODY_BYTES = 256 * 1024 * 1024;

export function exchange(
  url: URL,
  { method, headers, body, ca }: Outgoing,
  wholeMs: number = WHOLE_MS,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(error.name === 'AbortError' ? tooSlow(wholeMs) : error);
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options = {
      method,
      headers: { 'accept-encoding': 'identity', ...headers, ...length },
      timeout: TIMEOUT_MS,
      signal: AbortSignal.timeout(wholeMs),
      ...(ca !== undefined && { ca }),
    };
    const request = send(url, options, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_BODY_BYTES) response.destroy(new Error('the answer is too large'));
        else chunks.push(chunk);
      });
      response.on('error', fail);
      response.on('end', () => {
        try {
          const body = decoded(Buffer.concat(chunks), response.headers['content-encoding']);
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
        } catch (error) {
          reject(error);
        }
      });
    });
    request.on('timeout', () =>
      request.destroy(Object.assign(new Error(`no answer within ${TIMEOUT_MS / 1000} s`), { code: 'ETIMEDOUT' })),
    );
    request.on('error', fail);
    request.end(body);
  });
}

function tooSlow(wholeMs: number): Error {
  return Object.assign(new Error(`no complete answer within ${wholeMs / 1000} s`), { code: 'ETIMEDOUT' });
}

/** Some proxies compress answers although nobody asked for it. */
function decoded(bytes: Buffer, encoding: string | undefined): string {
  if (encoding === undefined || encoding === 'identity' || bytes.length === 0) return bytes.toString();
  if (encoding === 'gzip' || encoding === 'x-gzip')
    return gunzipSync(bytes, { maxOutputLength: MAX_BODY_BYTES }).toString();
  throw new Error(`the answer is compressed in a way that was not asked for: ${encoding}`);
}

/** The server may answer the next attempt. */
export function isConnectionFailure(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^(ECONN|EPIPE|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ERR_STREAM)/.test(code);
}
