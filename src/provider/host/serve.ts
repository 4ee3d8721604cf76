/**
 * Everything that answers calls: the services by which the host manages the process, and the provider's own. A host
 * starts one process only to ask for the schema, so that answer is precomputed if possible; the provider is loaded for
 * everything else.
 */
import { createGrpcServer, type GrpcServer, type Method, type Methods, type TlsOptions } from './grpc-server.ts';

export interface ServeOptions {
  /** The service of the provider, `/tfplugin6.Provider/…`. */
  readonly loadService: () => Promise<Methods>;
  /** The answer to GetProviderSchema, where it is known without the provider. */
  readonly knownSchema?: (() => Uint8Array) | undefined;
  readonly tls: TlsOptions | undefined;
  readonly events: ProcessEvents;
}

export const SCHEMA_CALL = '/tfplugin6.Provider/GetProviderSchema';

export function createProviderServer({ tls, events, loadService, knownSchema }: ServeOptions): GrpcServer {
  const methods = new Map(pluginMethods(events));
  if (knownSchema) methods.set(SCHEMA_CALL, { kind: 'unary', handle: async () => knownSchema() });
  return createGrpcServer({
    methods,
    loadMore: loadService,
    onCall: events.onCall,
    onLastSessionClosed: () => events.onHostGone(),
    ...(tls && { tls }),
  });
}

export interface ProcessEvents {
  onCall?(path: string): void;
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
