/** A minimal host: calls a provider over gRPC as Terraform would, for tests without Terraform. */

import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { frame, unframe } from '../host/grpc-wire.ts';

export interface HostIdentity {
  readonly certificatePem: string;
  readonly keyPem: string;
  /** What the provider showed in its handshake. */
  readonly serverCertificatePem: string;
}

export interface RawReply {
  readonly status: number;
  readonly statusMessage: string;
  readonly message: Uint8Array | undefined;
}

type Headers = Readonly<Record<string, string>>;

type TypedMethod<Input extends DescMessage, Output extends DescMessage> = DescMethod & {
  readonly input: Input;
  readonly output: Output;
};

export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

export class HostClient {
  readonly #session: ClientHttp2Session;

  private constructor(session: ClientHttp2Session) {
    this.#session = session;
  }

  static async connect(socketPath: string, identity?: HostIdentity): Promise<HostClient> {
    const session = connect('http://localhost', { createConnection: () => socketTo(socketPath, identity) });
    await new Promise<void>((resolve, reject) => {
      session.once('connect', () => resolve());
      session.once('error', reject);
      session.once('close', () => reject(new Error('the provider has closed the connection')));
    });
    session.on('error', () => {});
    return new HostClient(session);
  }

  /** Fails where the provider answers with a status instead of a message. */
  async call<Input extends DescMessage, Output extends DescMessage>(
    method: TypedMethod<Input, Output>,
    request: MessageInitShape<Input>,
  ): Promise<MessageShape<Output>> {
    const input: DescMessage = method.input;
    const reply = await this.callRaw(
      pathOf(method),
      frame(toBinary(input, create(input, request as MessageInitShape<DescMessage>))),
    );
    if (reply.status !== 0 || reply.message === undefined) {
      throw new Error(`${method.name}: status ${reply.status} ${reply.statusMessage}`);
    }
    return fromBinary(method.output, reply.message);
  }

  callRaw(path: string, framed: Uint8Array, headers: Headers = {}): Promise<RawReply> {
    return replyOf(this.open(path, framed, headers));
  }

  /** A call whose stream the caller watches. Without a message it stays open for writing. */
  open(path: string, framed?: Uint8Array, headers: Headers = {}): ClientHttp2Stream {
    const stream = this.#session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    });
    if (framed) stream.end(framed);
    return stream;
  }

  /** Also after the provider has closed the connection, and twice. */
  async close(): Promise<void> {
    if (this.#session.destroyed) return;
    await new Promise<void>((resolve) => {
      this.#session.once('close', resolve);
      this.#session.destroy();
    });
  }
}

function socketTo(path: string, identity: HostIdentity | undefined) {
  if (identity === undefined) return connectSocket(path);
  return connectTls({
    path,
    servername: 'localhost',
    cert: identity.certificatePem,
    key: identity.keyPem,
    ca: [identity.serverCertificatePem],
    ALPNProtocols: ['h2'],
  });
}

async function replyOf(stream: ClientHttp2Stream): Promise<RawReply> {
  const chunks: Buffer[] = [];
  let status: string | undefined;
  let statusMessage = '';
  const take = (headers: Readonly<Record<string, unknown>>) => {
    if (headers['grpc-status'] !== undefined) status = String(headers['grpc-status']);
    if (headers['grpc-message'] !== undefined) statusMessage = decodeURIComponent(String(headers['grpc-message']));
  };
  stream.on('response', take);
  stream.on('trailers', take);
  for await (const chunk of stream) chunks.push(chunk as Buffer); // no encoding is set
  const body = Buffer.concat(chunks);
  const unframed = body.length === 0 ? undefined : unframe(body);
  return {
    status: status === undefined ? -1 : Number(status),
    statusMessage,
    message: unframed?.ok ? unframed.message : undefined,
  };
}
