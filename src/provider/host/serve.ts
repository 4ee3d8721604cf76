/** All that answers calls, in one piece: loaded after the handshake, so that the host does not wait for it to start with. */
import { createGrpcServer, type GrpcServer, type TlsOptions } from './grpc-server.ts';
import type { GuardOptions } from './guard.ts';
import { type ProcessEvents, pluginMethods } from './plugin-services.ts';
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
