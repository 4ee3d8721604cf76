/** One message of gRPC: a byte that tells whether it is compressed, four bytes of length, the message. */

const HEAD_BYTES = 5;

export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(HEAD_BYTES + message.length);
  framed.writeUInt8(0, 0);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, HEAD_BYTES);
  return framed;
}

export type Unframed =
  | { readonly ok: true; readonly message: Uint8Array }
  | { readonly ok: false; readonly reason: string };

/** Exactly one message is expected. Compression is never agreed upon, so none may come. */
export function unframe(bytes: Buffer): Unframed {
  if (bytes.length < HEAD_BYTES) return { ok: false, reason: 'the message is cut short' };
  if (bytes.readUInt8(0) !== 0) return { ok: false, reason: 'compressed messages are not understood' };
  const message = bytes.subarray(HEAD_BYTES);
  return message.length === bytes.readUInt32BE(1)
    ? { ok: true, message }
    : { ok: false, reason: 'the message does not have the length it claims' };
}
