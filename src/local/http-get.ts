/**
 * One GET of a large file: redirects are followed, certificates verified, silence is bounded. Node's own client rather than
 * `fetch`, because it takes a certificate authority and hands out the body with its back-pressure.
 */
import { type IncomingHttpHeaders, type IncomingMessage, get as plainGet } from 'node:http';
import { get as tlsGet } from 'node:https';
import { canceledBy } from '../base/clock.ts';
import { ProxwrightError } from '../base/errors.ts';

export interface GetOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** PEM; beside none of the system's. */
  readonly ca?: string | undefined;
}

export interface FetchedBody {
  readonly status: number;
  readonly reason: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
}

const MAX_REDIRECTS = 8;
const SILENCE_MS = 60_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export async function httpGet(url: string, options: GetOptions = {}): Promise<FetchedBody> {
  let target = new URL(url);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const body = await ask(target, options);
    const { statusCode: status = 0, statusMessage: reason = '', headers } = body;
    if (!REDIRECTS.has(status) || headers.location === undefined) return { status, reason, headers, body };
    body.destroy();
    const next = new URL(headers.location, target);
    if (target.protocol === 'https:' && next.protocol !== 'https:') throw downgraded(url, next);
    target = next;
  }
  throw new ProxwrightError({
    code: 'DOWNLOAD_FAILED',
    detail: `${url} redirects more than ${MAX_REDIRECTS} times.`,
    hint: 'Use the address that the redirects should end at.',
  });
}

function ask(url: URL, { headers = {}, signal, ca }: GetOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(canceledBy(signal));
    // What is packed stays packed on the way: the declared checksum is that of the file.
    const common = { headers: { 'accept-encoding': 'identity', 'user-agent': 'proxwright', ...headers } };
    const request =
      url.protocol === 'https:' ? tlsGet(url, { ...common, ...(ca !== undefined && { ca }) }) : plainGet(url, common);
    const onAbort = () => request.destroy(canceledBy(signal));
    signal?.addEventListener('abort', onAbort, { once: true });
    request.setTimeout(SILENCE_MS, () => request.destroy(new Error(`nothing came for ${SILENCE_MS / 1000} s`)));
    request.on('error', reject);
    request.once('response', resolve);
    request.once('close', () => signal?.removeEventListener('abort', onAbort));
  });
}

function downgraded(url: string, next: URL): ProxwrightError {
  return new ProxwrightError({
    code: 'DOWNLOAD_FAILED',
    detail: `${url} redirects to ${next.protocol}//${next.host}, which is not encrypted. It was not followed.`,
    hint: 'Use another mirror.',
  });
}
