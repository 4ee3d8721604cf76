/**
 * HTTP messages as bytes: incoming bodies, and what Node's own parser does not do. Apart from the server, whose types are
 * public: a project without the types of Node can check its use of them.
 */
import type { IncomingMessage } from 'node:http';
import { type StreamBody, TransportFailure, type WireRequest, type WireResponse } from '../../base/transport.ts';

/** Larger bodies are passed on as they arrive. */
const LARGEST_WHOLE_BYTES = 1024 * 1024;

/** What the client sends; a body of unknown length is refused anyway and so is not read. */
export async function bodyOf(message: IncomingMessage): Promise<Uint8Array | StreamBody | undefined> {
  const sizeBytes = Number(message.headers['content-length'] ?? 0);
  if (sizeBytes === 0) return undefined;
  if (sizeBytes > LARGEST_WHOLE_BYTES) return { sizeBytes, open: () => received(message) };
  const chunks: Buffer[] = [];
  for await (const chunk of received(message)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* received(message: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* message as AsyncIterable<Buffer>; // no encoding was set, so they are bytes
  } catch (error) {
    throw gone(error);
  }
  if (!message.complete) throw gone(undefined);
}

function gone(cause: unknown): TransportFailure {
  return new TransportFailure({ kind: 'cut', delivered: 'perhaps', message: 'the client went away', cause });
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

/** Request line and headers from raw bytes; undefined if they are not HTTP. */
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
