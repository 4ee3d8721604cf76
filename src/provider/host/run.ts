/**
 * The life of a provider's process, from the handshake to its end. Before the handshake only what it needs is loaded: the
 * host starts a provider two to five times for one command and waits for the handshake each time.
 */
import type { Socket } from 'node:net';
import { systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Environment } from '../../base/processes.ts';
import { KnownSecrets } from '../../base/secret.ts';
import { once } from '../../base/values/once.ts';
import type { Provider } from '../provider.ts';
import type { GuardOptions } from './calls.ts';
import { createCertificate } from './certificate.ts';
import type { GrpcServer, Methods } from './grpc-server.ts';
import { type HandshakeRequest, handshakeLine, readHandshake } from './handshake.ts';
import { createHclog, logLevelOf } from './hclog.ts';
import { type Listener, listen } from './listen.ts';
import { noteUse } from './parts.ts';
import { announce, guardStdout, installCrashHandlers, installSignalHandlers, writeStderr } from './process.ts';
import type { ServeOptions } from './serve.ts';

/** What the process gives to the provider. */
export interface ProviderHost {
  readonly log: Logger;
  readonly environment: Environment;
  /** Redacted from logs, internal errors and crashes. May grow. */
  readonly secrets: KnownSecrets;
}

/** A host connects at once; after this time it is gone. */
const CONNECT_WITHIN_MS = 60_000;
/** Time for pending calls to return what they have created. */
const END_WITHIN_MS = 2_000;
const LOOK_EVERY_MS = 20;

/** What is loaded after the handshake. */
export interface AfterHandshake {
  readonly createProviderServer: (options: ServeOptions) => GrpcServer;
  readonly knownSchema?: (() => Uint8Array) | undefined;
  readonly loadProvider: () => Promise<WholeProvider>;
}

/** What is loaded with the first call that needs it. */
export interface WholeProvider {
  readonly createProvider: (host: ProviderHost) => Promise<Provider>;
  readonly providerMethods: (options: GuardOptions) => Methods;
}

/** Calls with much code behind them; all others count as one use. */
const USES = [
  'ValidateResourceConfig',
  'ReadResource',
  'PlanResourceChange',
  'ApplyResourceChange',
  'ImportResourceState',
  'ReadDataSource',
];

export async function runProvider(loadRest: () => Promise<AfterHandshake>): Promise<void> {
  guardStdout();
  const secrets = new KnownSecrets();
  let listener: Listener | undefined;
  installCrashHandlers({ write: writeStderr, secrets });
  installSignalHandlers({ cleanUp: () => listener?.removeFiles() });
  const environment: Environment = process.env;
  const reading = readHandshake(environment);
  if (!reading.ok) {
    writeStderr(`${reading.explanation}\n`);
    process.exit(1);
  }
  const { request } = reading;
  const identity = request.clientCertificate === undefined ? undefined : createCertificate(systemClock.now());
  const waiting: Socket[] = [];
  let accept = (socket: Socket): void => {
    waiting.push(socket);
  };
  listener = await listen(request, process.platform, (socket) => accept(socket));
  announce(handshakeLine(listener, identity?.certificate, request));

  const log = createHclog({ write: writeStderr, clock: systemClock, level: logLevelOf(environment), secrets });
  const { createProviderServer, knownSchema, loadProvider } = await loadRest();
  const whole = once(loadProvider);
  let loading: Promise<Provider> | undefined;
  const provider = () => {
    loading ??= whole().then(({ createProvider }) => createProvider({ log, environment, secrets }));
    return loading;
  };
  const server = createProviderServer({
    loadService: once(async () => (await whole()).providerMethods({ provider, log, secrets })),
    knownSchema,
    tls: identity && { ...identity, clientCertificatePem: request.clientCertificate ?? '' },
    events: {
      onCall: (path) => noteUse(USES.indexOf(path.slice(path.lastIndexOf('/') + 1)) + 1),
      // On the next turn of the loop, after the answer is sent.
      onShutdown: () => setImmediate(() => process.exit(0)),
      onHostGone: once(() => endAfterHost(request, server, loading)),
    },
  });
  accept = (socket) => server.accept(socket);
  for (const socket of waiting) accept(socket);
  await endIfNoHostConnects(request, server);
}

/** Without TLS a person started the provider for debugging, and it outlives its hosts. */
async function endAfterHost(
  { clientCertificate }: HandshakeRequest,
  server: GrpcServer,
  /** Undefined if no call needed it. */
  loading: Promise<Provider> | undefined,
): Promise<void> {
  if (clientCertificate === undefined) return;
  const until = systemClock.ticks() + END_WITHIN_MS;
  if (server.pendingCalls > 0) {
    loading?.then(
      (provider) => provider.stop(),
      () => {},
    );
  }
  while (server.pendingCalls > 0 && systemClock.ticks() < until) await systemClock.sleep(LOOK_EVERY_MS);
  process.exit(0);
}

async function endIfNoHostConnects({ clientCertificate }: HandshakeRequest, server: GrpcServer): Promise<void> {
  if (clientCertificate === undefined) return;
  await systemClock.sleep(CONNECT_WITHIN_MS);
  if (!server.hasBeenUsed) process.exit(0);
}
