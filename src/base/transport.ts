/**
 * The network: an exchange of HTTP messages, and a probe of TCP ports. The real implementations use TLS and sockets, those
 * of the simulator call a function; the client cannot tell them apart.
 */

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface WireRequest {
  /** The client sends only a `Method`; any text, because the simulator must also respond to wrong ones. */
  readonly method: string;
  /** Path and query of the request line, percent-encoded: `/api2/json/version`. */
  readonly target: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | StreamBody;
}

/** A body that is too large for memory. Its length is sent first: Proxmox rejects chunked bodies. */
export interface StreamBody {
  readonly sizeBytes: number;
  /** The bytes from the start; called once per attempt. */
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

/** The time for one exchange, if the caller sets none. */
export const REQUEST_TIMEOUT_MS = 60_000;

export interface SendOptions {
  readonly signal?: AbortSignal | undefined;
  /** The time from the first byte sent to the last byte received. */
  readonly timeoutMs?: number | undefined;
  /** A response that another caller got at most this long ago is good enough, if the transport keeps responses. */
  readonly maxAgeMs?: number | undefined;
  /** Called when the connection is open, right before the first byte is sent; if it throws, nothing is sent. */
  readonly beforeSend?: (() => void) | undefined;
  /** Reports how many bytes of a `StreamBody` the connection has accepted. */
  readonly onSent?: ((sentBytes: number) => void) | undefined;
}

export interface Transport {
  /** Resolves with the response, whatever its status; rejects with a `TransportFailure` if there was none. */
  send(request: WireRequest, options?: SendOptions): Promise<WireResponse>;
  close(): Promise<void>;
}

/**
 * Why there was no response. Callers need `delivered`: a request that certainly never reached the server may be sent
 * again; one that may have reached it has an unknown outcome.
 */
export class TransportFailure extends Error {
  readonly kind: 'connect' | 'certificate' | 'timeout' | 'cut' | 'malformed';
  readonly delivered: 'no' | 'perhaps';
  /** The SHA-256 fingerprint that the server presented, if the certificate was the reason. */
  readonly fingerprint: string | undefined;
  /** The code of the operating system, if it refused the connection: `ENOTFOUND`. */
  readonly systemCode: string | undefined;

  constructor(init: {
    kind: TransportFailure['kind'];
    delivered: TransportFailure['delivered'];
    message: string;
    fingerprint?: string;
    systemCode?: string;
    cause?: unknown;
  }) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.name = 'TransportFailure';
    this.kind = init.kind;
    this.delivered = init.delivered;
    this.fingerprint = init.fingerprint;
    this.systemCode = init.systemCode;
  }
}

/** Whether a TCP port answers from here. The real one opens a connection; tests ask the simulator. */
export interface PortProbe {
  /** False if the port is closed, unreachable or too slow; rejects only with `Canceled`. */
  isOpen(
    address: string,
    port: number,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
  ): Promise<boolean>;
}
