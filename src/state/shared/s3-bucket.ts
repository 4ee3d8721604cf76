/**
 * The few requests to an S3-compatible server that a store needs: read an object, write it on a condition, delete it. Each
 * may be repeated: a write whose answer was lost is found by reading the object.
 */
import { AwsV4Signer } from 'aws4fetch';
import { exchange, isConnectionFailure, type Reply } from './http-exchange.ts';
import { type Retried, Retries } from './retried.ts';

export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface CredentialSource {
  get(): Promise<AwsKeys>;
  /** The server says that they have expired. */
  renew(): void;
}

export interface BucketOptions extends Retried {
  readonly bucket: string;
  readonly region: string;
  /** Other servers than AWS; the bucket is then part of the path. */
  readonly endpoint?: string | undefined;
  readonly credentials: CredentialSource;
  /** PEM text of an authority that the system does not know. */
  readonly ca?: string | undefined;
}

export interface StoredObject {
  readonly text: string;
  readonly etag: string;
  /** Since it was written, by the server's clock, which counts in seconds; never more than the true age. */
  readonly ageMs: number;
}

export type Condition = { readonly ifMatch: string } | 'absent';

/** A reply that means a failure. */
class S3Failure extends Error {
  /** The next attempt may succeed. */
  readonly isTransient: boolean;

  constructor(request: string, { status, body }: Reply) {
    const [, code] = /<Code>([^<]*)<\/Code>/.exec(body) ?? [];
    const [, message] = /<Message>([^<]*)<\/Message>/.exec(body) ?? [];
    super(`${request}: ${status} ${[code, message].filter(Boolean).join(', ')}`.trim());
    this.isTransient = status >= 500 || status === 429 || isExpiredToken(body);
  }
}

/** What a store needs from a bucket. */
export type Bucket = Pick<S3Bucket, 'get' | 'put' | 'delete'>;

export class S3Bucket {
  readonly #options: BucketOptions;
  readonly #base: URL;
  readonly #retries: Retries;

  constructor(options: BucketOptions) {
    this.#options = options;
    this.#retries = new Retries(options);
    const { endpoint, bucket, region } = options;
    this.#base =
      endpoint === undefined
        ? new URL(`https://${bucket}.s3.${region}.amazonaws.com/`)
        : new URL(`${endpoint.replace(/\/+$/, '')}/${encodeURIComponent(bucket)}/`);
  }

  /** Undefined without the object. */
  async get(key: string): Promise<StoredObject | undefined> {
    const isAbsent = (each: Reply) => each.status === 404 && !isNoBucket(each);
    const reply = await this.#send('GET', key, { expects: (each) => each.status === 200 || isAbsent(each) });
    if (isAbsent(reply)) return undefined;
    const { etag = '', date, 'last-modified': modified } = reply.headers;
    const ageMs = Math.max(0, Date.parse(date ?? '') - Date.parse(modified ?? '') - 1000);
    return { text: reply.body, etag, ageMs: Number.isNaN(ageMs) ? 0 : ageMs };
  }

  /**
   * Returns the tag of the new version, or undefined if the condition does not hold. The text must be unique to this
   * writer: it shows whether a write whose answer was lost took effect.
   */
  async put(key: string, text: string, condition: Condition): Promise<string | undefined> {
    const header: Record<string, string> =
      condition === 'absent' ? { 'if-none-match': '*' } : { 'if-match': condition.ifMatch };
    // 409: another write to the same object was in progress. 404: the object that should match is gone.
    const isRefused = (each: Reply) =>
      each.status === 412 || each.status === 409 || (each.status === 404 && !isNoBucket(each));
    const reply = await this.#send('PUT', key, {
      body: text,
      headers: header,
      expects: (each) => each.status === 200 || isRefused(each),
    });
    if (reply.status === 200) return reply.headers.etag ?? (await this.get(key))?.etag;
    const now = await this.get(key);
    return now?.text === text ? now.etag : undefined;
  }

  async delete(key: string): Promise<void> {
    await this.#send('DELETE', key, { expects: ({ status }) => status < 300 || status === 404 });
  }

  async #send(
    method: string,
    key: string,
    {
      body,
      headers = {},
      expects,
    }: { body?: string; headers?: Record<string, string>; expects: (reply: Reply) => boolean },
  ): Promise<Reply> {
    return this.#retries.run(isTransient, async () => {
      const reply = await this.#attempt(method, key, body, headers);
      if (expects(reply)) return reply;
      if (isExpiredToken(reply.body)) this.#options.credentials.renew();
      throw new S3Failure(`${method} ${key}`, reply);
    });
  }

  async #attempt(
    method: string,
    key: string,
    body: string | undefined,
    headers: Record<string, string>,
  ): Promise<Reply> {
    const { region, credentials, ca } = this.#options;
    const url = new URL(key.split('/').map(encodeURIComponent).join('/'), this.#base).href;
    const signer = new AwsV4Signer({
      method,
      url,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'text/plain' }) },
      ...(body !== undefined && { body }),
      service: 's3',
      region,
      ...(await credentials.get()),
    });
    const signed = await signer.sign();
    return exchange(signed.url, { method, headers: Object.fromEntries(signed.headers), body, ca });
  }
}

function isExpiredToken(body: string): boolean {
  return /<Code>(ExpiredToken|ExpiredTokenException|RequestExpired)<\/Code>/.test(body);
}

function isNoBucket({ body }: Reply): boolean {
  return body.includes('NoSuchBucket');
}

function isTransient(error: unknown): boolean {
  return error instanceof S3Failure ? error.isTransient : isConnectionFailure(error);
}
