/**
 * The parts of the gRPC wire format that a provider needs: status numbers, message frames and timeouts. Pure, without a
 * socket.
 */

/** https://grpc.github.io/grpc/core/md_doc_statuscodes.html */
export const STATUS = {
  ok: 0,
  cancelled: 1,
  deadlineExceeded: 4,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
} as const;

export type Status = (typeof STATUS)[keyof typeof STATUS];

/** Why a call is refused before its handler sees it. */
export interface Refusal {
  readonly ok: false;
  readonly status: Status;
  readonly reason: string;
}

export type Unframed = { readonly ok: true; readonly message: Uint8Array } | Refusal;

/** A flag that says whether the message is compressed, and four bytes of length. */
const HEAD_BYTES = 5;

export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(HEAD_BYTES + message.length);
  framed.writeUInt8(0, 0);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, HEAD_BYTES);
  return framed;
}

/**
 * The one message of a whole body. Both sides never agree on compression, so a compressed message is refused. The numbers are
 * those that the specification gives to each violation.
 */
export function unframe(body: Buffer): Unframed {
  if (body.length === 0) return refusal(STATUS.unimplemented, 'the call has no message');
  if (body.length < HEAD_BYTES) return refusal(STATUS.internal, 'the body ends inside the head of a message');
  if (body.readUInt8(0) !== 0) return refusal(STATUS.unimplemented, 'compressed messages are not supported');
  const end = HEAD_BYTES + body.readUInt32BE(1);
  if (body.length < end) return refusal(STATUS.internal, 'the body ends inside a message');
  if (body.length > end) return refusal(STATUS.unimplemented, 'the call has more than one message');
  return { ok: true, message: body.subarray(HEAD_BYTES) };
}

/** Refuses a body as soon as the message in it is known to be too large, instead of keeping all of it. */
export class BodyCollector {
  readonly #limit: number;
  readonly #chunks: Buffer[] = [];
  #length = 0;

  constructor(maxMessageBytes: number) {
    this.#limit = HEAD_BYTES + maxMessageBytes;
  }

  /** Undefined while the body may continue. */
  add(chunk: Buffer): Refusal | undefined {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (this.#length <= this.#limit) return undefined;
    return refusal(STATUS.resourceExhausted, `the message is larger than ${this.#limit - HEAD_BYTES} bytes`);
  }

  finish(): Unframed {
    return unframe(Buffer.concat(this.#chunks));
  }
}

const UNIT_MS = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 } as const;
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
/** About 24 days: longer timers overflow and would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Milliseconds of a `grpc-timeout` header, rounded up; undefined where the text is not a timeout. */
export function timeoutMs(text: string): number | undefined {
  const [, digits, unit] = TIMEOUT.exec(text) ?? [];
  if (digits === undefined || unit === undefined) return undefined;
  const ms = Math.ceil(Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS]); // the pattern allows no other unit
  return Math.min(ms, LONGEST_TIMER_MS);
}

function refusal(status: Status, reason: string): Refusal {
  return { ok: false, status, reason };
}
