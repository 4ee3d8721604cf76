/** How the host looks after the process, beside asking for work: is it up, is it there, shall it end. */
import type { Method } from './grpc-server.ts';

export interface ProcessEvents {
  /** The host has asked for the end and has its answer. */
  onShutdown(): void;
  /** The host has let go of the call it holds as long as it lives. */
  onHostGone(): void;
}

const EMPTY = new Uint8Array();
/** `status = SERVING` of grpc.health.v1.HealthCheckResponse. */
const SERVING = new Uint8Array([0x08, 0x01]);

/**
 * The messages of these calls are empty or constant (`plugin.proto`, `health.proto`), so their bytes stand here and the
 * first answers do not wait for the machinery of messages to be loaded.
 */
export function pluginMethods({ onShutdown, onHostGone }: ProcessEvents): ReadonlyMap<string, Method> {
  return new Map<string, Method>([
    ['/plugin.GRPCBroker/StartStream', { kind: 'held' }],
    ['/plugin.GRPCStdio/StreamStdio', { kind: 'held', onEnd: onHostGone }],
    ['/plugin.GRPCController/Shutdown', { kind: 'unary', handle: async () => EMPTY, afterReply: onShutdown }],
    ['/grpc.health.v1.Health/Check', { kind: 'unary', handle: async () => SERVING }],
  ]);
}
