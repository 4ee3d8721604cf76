/**
 * Everything that answers calls: the services by which the host looks after the process, and the provider's own. Loaded after
 * the handshake, so that the host does not wait for it at the start.
 */
import type { GuardOptions } from './calls.ts';
import { createGrpcServer, type GrpcServer, type Method, type TlsOptions } from './grpc-server.ts';
import { providerMethods } from './provider-service.ts';

export interface ServeOptions extends GuardOptions {
  readonly tls: TlsOptions | undefined;
  readonly events: ProcessEvents;
}

export function createProviderServer({ tls, events, ...options }: ServeOptions): GrpcServer {
  return createGrpcServer({
    methods: new Map([...pluginMethods(events), ...providerMethods(options)]),
    onLastSessionClosed: () => events.onHostGone(),
    ...(tls && { tls }),
  });
}

export interface ProcessEvents {
  /** The host asked the process to end, and has its answer. */
  onShutdown(): void;
  /** The host ended the call that it holds open as long as it lives. */
  onHostGone(): void;
}

const EMPTY = new Uint8Array();
/** `status = SERVING` of grpc.health.v1.HealthCheckResponse. */
const SERVING = new Uint8Array([0x08, 0x01]);

/**
 * The messages of these calls are empty or constant (`plugin.proto`, `health.proto`), so their bytes are written here and the
 * first answers do not wait until the message library is loaded.
 */
export function pluginMethods({ onShutdown, onHostGone }: ProcessEvents): ReadonlyMap<string, Method> {
  return new Map<string, Method>([
    ['/plugin.GRPCBroker/StartStream', { kind: 'held' }],
    ['/plugin.GRPCStdio/StreamStdio', { kind: 'held', onEnd: onHostGone }],
    ['/plugin.GRPCController/Shutdown', { kind: 'unary', handle: async () => EMPTY, afterReply: onShutdown }],
    ['/grpc.health.v1.Health/Check', { kind: 'unary', handle: async () => SERVING }],
  ]);
}
