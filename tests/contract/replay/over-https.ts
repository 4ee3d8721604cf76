/**
 * A server over a real network on virtual time. Time stands still while bytes are on their way, so however long the
 * machine takes for them, a scenario meets the same moments as in process.
 */
import { isStreamBody, type Transport, type WireRequest, type WireResponse } from '../../../src/base/transport.ts';
import type { VirtualClock } from '../../../src/base/virtual-clock.ts';
import type { ServedSimulator } from '../../../src/simulator/index.ts';

export interface TimelessNetwork {
  /** What the server serves: it notes which requests have arrived. */
  serverSide(simulator: ServedSimulator): ServedSimulator;
  /** What the replayer uses: it notes which requests it has sent and which answers it has. */
  clientSide(transport: Transport): Transport;
}

/** Both sides count how many messages are on their way; the clock waits until there are none. */
export function timelessNetwork(clock: VirtualClock): TimelessNetwork {
  let onTheWay = 0;
  let allArrived = () => {};
  const depart = () => {
    onTheWay++;
    if (onTheWay > 1) return;
    const arrival = new Promise<void>((resolve) => {
      allArrived = resolve;
    });
    void clock.outside(() => arrival);
  };
  const arrive = () => {
    onTheWay--;
    if (onTheWay === 0) allArrived();
  };
  const whileOnTheWay = async <T>(work: () => Promise<T>): Promise<T> => {
    depart();
    try {
      return await work();
    } finally {
      arrive();
    }
  };
  return {
    serverSide: (simulator) => ({
      runtime: simulator.runtime,
      async handle(request) {
        arrive();
        try {
          return await simulator.handle(withTimelessBody(request, whileOnTheWay));
        } finally {
          depart();
        }
      },
    }),
    clientSide: (transport) => ({
      send: (request, options): Promise<WireResponse> => whileOnTheWay(() => transport.send(request, options)),
      close: () => transport.close(),
    }),
  };
}

/** A large body still arrives while its request is handled. */
function withTimelessBody(request: WireRequest, whileOnTheWay: <T>(work: () => Promise<T>) => Promise<T>): WireRequest {
  const { body } = request;
  if (!isStreamBody(body)) return request;
  const open = async function* () {
    const chunks = body.open()[Symbol.asyncIterator]();
    for (;;) {
      const next = await whileOnTheWay(() => chunks.next());
      if (next.done) return;
      yield next.value;
    }
  };
  return { ...request, body: { sizeBytes: body.sizeBytes, open } };
}
