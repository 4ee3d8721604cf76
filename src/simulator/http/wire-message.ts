/** HTTP messages as bytes: reading bodies within bounds, and the little that Node's own parser does not do for us. */
import type { IncomingMessage } from 'node:http';
import { TransportFailure, type WireRequest, type WireResponse } from '../../base/transport.ts';

/** Enough for a cloud image in a test; everything is kept in memory. */
const LARGEST_UPLOAD_BYTES = 64 * 1024 * 1024;

export async function readBody(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > LARGEST_UPLOAD_BYTES) throw cut(`a body of more than ${LARGEST_UPLOAD_BYTES} bytes`);
    chunks.push(chunk);
  }
  if (!message.complete) throw cut('the client went away');
  return Buffer.concat(chunks);
}

function cut(message: string): TransportFailure {
  return new TransportFailure({ kind: 'cut', delivered: 'perhaps', message });
}

/** Texts are UTF-8 on the wire; Node takes header text byte by byte and refuses control characters. */
export function reasonOnWire(reason: string): string {
  return (
    Buffer.from(reason)
      .toString('latin1')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must go
      .replace(/[\x00-\x08\x0a-\x1f\x7f]/g, ' ')
  );
}

export function headOf(answer: WireResponse): string {
  const headers = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${answer.status} ${reasonOnWire(answer.reason)}\r\n${headers.join('')}\r\n`;
}

/** Request line and headers out of raw bytes; undefined when they are no HTTP at all. */
export function parseHead(bytes: Buffer): WireRequest | undefined {
  const [head = ''] = bytes.toString('latin1').split('\r\n\r\n');
  const [requestLine = '', ...lines] = head.split('\r\n');
  const [, method, target] = /^(\S+) (\S+) HTTP\/1\.[01]$/.exec(requestLine) ?? [];
  if (method === undefined || target === undefined) return undefined;
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:\s]+):\s*(.*?)\s*$/.exec(line) ?? [];
    if (name !== '') headers[name.toLowerCase()] = value;
  }
  return { method, target, headers };
}
