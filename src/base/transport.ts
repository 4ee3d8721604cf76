/**
 * The third door: the network, as one exchange of HTTP messages. The real implementation speaks TLS, the one of
 * the simulator calls a function; the client above cannot tell them apart.
 */

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface WireRequest {
  /** One of `Method` for everything we send; any text, because the simulator must answer wrong ones too. */
  readonly method: string;
  /** Path and query as they stand in the request line, already percent-encoded: `/api2/json/version`. */
  readonly target: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | StreamBody;
}

/** A body too large to be held in memory. Its length is stated before it is sent: Proxmox refuses chunked bodies. */
export interface StreamBody {
  readonly sizeBytes: number;
  /** The bytes from the beginning; called once for each attempt. */
  open(): AsyncIterable<Uint8Array>;
}

export function isStreamBody(body: WireRequest['body']): body is StreamBody {
  return typeof body === 'object' && 'open' in body;
}

export interface WireResponse {
  readonly status: number;
  /** The reason phrase: Proxmox puts the first line of its message here. */
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface SendOptions {
  readonly signal?: AbortSignal | undefined;
  /** How long the answer may take, from the first byte sent to the last byte received. */
  readonly timeoutMs?: number | undefined;
  /** How much of a `StreamBody` has been handed to the connection. */
  readonly onSent?: ((sentBytes: number) => void) | undefined;
}

export interface Transport {
  /** Resolves with the answer, whatever its status; rejects with a `TransportFailure` when there was none. */
  send(request: WireRequest, options?: SendOptions): Promise<WireResponse>;
  close(): Promise<void>;
}

/**
 * Why no answer came. What matters to a caller is `delivered`: a request that certainly never reached the server may
 * be sent again; one that may have reached it has an unknown outcome.
 */
export class TransportFailure extends Error {
  readonly kind: 'connect' | 'certificate' | 'timeout' | 'cut' | 'malformed';
  readonly delivered: 'no' | 'perhaps';
  /** SHA-256 fingerprint the server presented, where the certificate was the reason. */
  readonly fingerprint: string | undefined;

  constructor(init: {
    kind: TransportFailure['kind'];
    delivered: TransportFailure['delivered'];
    message: string;
    fingerprint?: string;
    cause?: unknown;
  }) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.name = 'TransportFailure';
    this.kind = init.kind;
    this.delivered = init.delivered;
    this.fingerprint = init.fingerprint;
  }
}
