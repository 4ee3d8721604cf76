/**
 * Downloads an image to a cache directory on this machine. An interrupted download resumes if the server supports ranges,
 * also in a later run. The reader of the file verifies its checksum and discards a wrong one.
 */
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { type IncomingHttpHeaders, type IncomingMessage, get as plainGet } from 'node:http';
import { get as tlsGet } from 'node:https';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Clock, canceledBy, throwIfCanceled } from '../base/clock.ts';
import { ProxwrightError } from '../base/errors.ts';
import type { PrepareOptions } from '../base/image-source.ts';
import { Attempts, RETRIES } from '../base/retry.ts';

export interface DownloadOptions extends PrepareOptions {
  readonly clock: Clock;
  readonly directory: string;
  readonly ca?: string | undefined;
  /** With a declared checksum, a cached file is used without asking the server, and plain http is allowed. */
  readonly isDeclared: boolean;
}

/** Stored next to the bytes: shows whether the server still has the same file. */
interface Note {
  readonly validator?: string | undefined;
}

const MAX_BYTES = 128 * 1024 ** 3;

/** The path of the complete file. */
export async function downloaded(url: string, options: DownloadOptions): Promise<string> {
  refusePlain(url, options);
  const paths = cachePaths(options.directory, url);
  await mkdir(options.directory, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw unwritable(options.directory, error);
  });
  if (options.isDeclared && (await sizeOf(paths.whole)) !== undefined) return paths.whole;
  const attempts = new Attempts(RETRIES.download, options);
  for (;;) {
    const before = await sizeOf(paths.part);
    try {
      return await fetchRest(url, paths, options);
    } catch (error) {
      throwIfCanceled(options.signal);
      if (((await sizeOf(paths.part)) ?? 0) > (before ?? 0)) attempts.restart();
      if (!(await attempts.again(error))) throw failure(url, error);
    }
  }
}

export async function discardDownload(url: string, directory: string): Promise<void> {
  const paths = cachePaths(directory, url);
  await Promise.all([paths.whole, paths.part, paths.note].map((path) => rm(path, { force: true })));
}

interface CachePaths {
  readonly whole: string;
  readonly part: string;
  readonly note: string;
}

function cachePaths(directory: string, url: string): CachePaths {
  const name = join(directory, createHash('sha256').update(url).digest('hex').slice(0, 32));
  return { whole: `${name}.image`, part: `${name}.part`, note: `${name}.json` };
}

async function fetchRest(url: string, paths: CachePaths, options: DownloadOptions): Promise<string> {
  const { validator } = await readNote(paths.note);
  const wholeBytes = await sizeOf(paths.whole);
  const partBytes = (await sizeOf(paths.part)) ?? 0;
  const canResume = partBytes > 0 && validator !== undefined;
  const headers = {
    ...(wholeBytes !== undefined && validator !== undefined && unlessChanged(validator)),
    ...(wholeBytes === undefined && canResume && { range: `bytes=${partBytes}-`, 'if-range': validator }),
  };
  const answer = await httpGet(url, { headers, signal: options.signal, ca: options.ca });
  if (answer.status === 304 && wholeBytes !== undefined) {
    answer.body.destroy();
    return paths.whole;
  }
  const startBytes = startOf(answer, url);
  if (startBytes !== 0 && startBytes !== partBytes) throw oddRange(url);
  const totalBytes = totalOf(answer, startBytes);
  await writeFile(paths.note, JSON.stringify({ validator: validatorOf(answer) } satisfies Note), { mode: 0o600 });
  await receive(answer.body, paths.part, { startBytes, totalBytes }, options);
  await rename(paths.part, paths.whole);
  return paths.whole;
}

/** The offset at which the response starts; throws for any other response. */
function startOf({ status, reason, headers, body }: FetchedBody, url: string): number {
  if (status === 200) return 0;
  const start = status === 206 ? /^bytes (\d+)-/.exec(headers['content-range'] ?? '')?.[1] : undefined;
  if (start !== undefined) return Number(start);
  body.destroy();
  throw new ProxwrightError({
    code: 'DOWNLOAD_FAILED',
    detail: `${url} responded with ${status} ${reason}.`,
    hint: 'Open the URL in a browser; images of old releases are often moved or removed.',
  });
}

function totalOf({ headers }: FetchedBody, startBytes: number): number | undefined {
  const length = headers['content-length'];
  return length === undefined ? undefined : startBytes + Number(length);
}

async function receive(
  body: FetchedBody['body'],
  path: string,
  extent: { readonly startBytes: number; readonly totalBytes: number | undefined },
  { signal, onProgress }: DownloadOptions,
): Promise<void> {
  const { startBytes, totalBytes } = extent;
  let receivedBytes = startBytes;
  let reported = -1;
  async function* counted(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const chunk of chunks) {
      receivedBytes += chunk.byteLength;
      if (receivedBytes > MAX_BYTES) throw tooLarge();
      const percent =
        totalBytes === undefined ? undefined : Math.floor((receivedBytes / Math.max(1, totalBytes)) * 100);
      if (percent !== reported) onProgress?.('download', percent === undefined ? undefined : percent / 100);
      reported = percent ?? reported;
      yield chunk;
    }
  }
  const file = createWriteStream(path, { flags: startBytes > 0 ? 'a' : 'w', mode: 0o600 });
  await pipeline(body, counted, file, { ...(signal && { signal }) });
  if (!body.complete || (totalBytes !== undefined && receivedBytes < totalBytes))
    throw new Error('the connection was interrupted');
}

const unlessChanged = (validator: string): Record<string, string> =>
  validator.startsWith('"') ? { 'if-none-match': validator } : { 'if-modified-since': validator };

/** A weak tag does not guarantee identical bytes. */
function validatorOf({ headers }: FetchedBody): string | undefined {
  return headers.etag?.startsWith('"') ? headers.etag : headers['last-modified'];
}

async function readNote(path: string): Promise<Note> {
  try {
    const note: unknown = JSON.parse(await readFile(path, 'utf8'));
    const validator = typeof note === 'object' && note !== null && 'validator' in note ? note.validator : undefined;
    return typeof validator === 'string' ? { validator } : {};
  } catch {
    // None, or a damaged one: the download starts again.
    return {};
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
}

function refusePlain(url: string, { isDeclared }: DownloadOptions): void {
  if (isDeclared || new URL(url).protocol === 'https:') return;
  throw new ProxwrightError({
    code: 'DOWNLOAD_FAILED',
    detail: `${url} is not encrypted, and no checksum is declared, so the file could not be verified.`,
    hint: 'Use https, or declare sha256.',
  });
}

function failure(url: string, error: unknown): ProxwrightError {
  if (error instanceof ProxwrightError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOSPC' || code === 'EACCES' || code === 'EROFS') return unwritable('The image cache', error);
  return new ProxwrightError({
    code: 'DOWNLOAD_FAILED',
    detail: `${url} could not be downloaded to this machine: ${error instanceof Error ? error.message : String(error)}.`,
    hint: hintFor(code),
    cause: error,
  });
}

const HINTS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'The host name does not exist. Check the URL.',
  EAI_AGAIN: 'The name server did not respond. Check the network of this machine.',
  ECONNREFUSED: 'The port is closed. Check the URL.',
};

function hintFor(code: string): string {
  if (/CERT|SELF_SIGNED/.test(code)) {
    return 'This machine does not trust the certificate of the web server. Check its clock and its CA certificates.';
  }
  return HINTS[code] ?? 'Apply again. The download resumes if the server supports it.';
}

function oddRange(url: string): Error {
  return new Error(`${url} responded with a different range than requested`);
}

function tooLarge(): ProxwrightError {
  return new ProxwrightError({
    code: 'DOWNLOAD_FAILED',
    detail: `The download is larger than ${MAX_BYTES} bytes.`,
    hint: 'Check that the URL is that of an image.',
  });
}

function unwritable(what: string, cause: unknown): ProxwrightError {
  return new ProxwrightError({
    code: 'UNWRITABLE_FILE',
    detail: `${what} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}.`,
    hint: 'Proxwright stores images on this machine before it uploads them. Free space for the whole image.',
    cause,
  });
}

interface GetOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** PEM; replaces the certificate authorities of the system. */
  readonly ca?: string | undefined;
}

interface FetchedBody {
  readonly status: number;
  readonly reason: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
}

const MAX_REDIRECTS = 8;
const SILENCE_MS = 60_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * One GET of a large file: follows redirects, verifies certificates, and limits silence. Uses Node's own client instead of
 * `fetch`, because it accepts a certificate authority and provides the body with back-pressure.
 */
async function httpGet(url: string, options: GetOptions = {}): Promise<FetchedBody> {
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
    hint: 'Use the final address of the redirects.',
  });
}

function ask(url: URL, { headers = {}, signal, ca }: GetOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(canceledBy(signal));
    // No content encoding: the declared checksum is the checksum of the file.
    const common = { headers: { 'accept-encoding': 'identity', 'user-agent': 'proxwright', ...headers } };
    const request =
      url.protocol === 'https:' ? tlsGet(url, { ...common, ...(ca !== undefined && { ca }) }) : plainGet(url, common);
    const onAbort = () => request.destroy(canceledBy(signal));
    signal?.addEventListener('abort', onAbort, { once: true });
    request.setTimeout(SILENCE_MS, () => request.destroy(new Error(`no data for ${SILENCE_MS / 1000} s`)));
    request.on('error', reject);
    request.once('response', resolve);
    request.once('close', () => signal?.removeEventListener('abort', onAbort));
  });
}

function downgraded(url: string, next: URL): ProxwrightError {
  return new ProxwrightError({
    code: 'DOWNLOAD_FAILED',
    detail: `${url} redirects to ${next.protocol}//${next.host}, which is not encrypted. Proxwright did not follow it.`,
    hint: 'Use another mirror.',
  });
}
