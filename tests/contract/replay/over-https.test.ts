import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../src/base/random.ts';
import type { Transport, WireRequest, WireResponse } from '../../../src/base/transport.ts';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { createSimulator, recordedWorld, type ServedSimulator } from '../../../src/simulator/index.ts';
import { timelessNetwork } from './over-https.ts';

const MIB = 1024 * 1024;
const ANSWER: WireResponse = { status: 200, reason: 'OK', headers: {}, body: '' };
const REQUEST: WireRequest = { method: 'GET', target: '/api2/json/version', headers: {} };

/** Many turns of the event loop, which a virtual clock would use to move on. */
async function slowly(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** A client and a server whose messages need many turns; `handle` is what the server does. */
function slowNetwork(clock: VirtualClock, handle: ServedSimulator['handle']): Transport {
  const { runtime } = createSimulator({ world: recordedWorld(), clock, random: seededRandom('network') });
  const network = timelessNetwork(clock);
  const server = network.serverSide({ runtime, handle });
  return network.clientSide({
    async send(request) {
      await slowly();
      const answer = await server.handle(request).finally(slowly);
      return answer;
    },
    close: async () => {},
  });
}

describe('a network on virtual time', () => {
  it('lets no time pass while a request or an answer is on its way, though another wait is due', async () => {
    const clock = new VirtualClock(0);
    const moments: number[] = [];
    const transport = slowNetwork(clock, async () => {
      moments.push(clock.now());
      await clock.sleep(3_000);
      moments.push(clock.now());
      return ANSWER;
    });
    await clock.run(async () => {
      const other = clock.sleep(3_001);
      await transport.send(REQUEST);
      moments.push(clock.now());
      await other;
      moments.push(clock.now());
    });
    expect(moments).toEqual([0, 3_000, 3_000, 3_001]);
  });

  it('lets time pass for one request only when no other is on its way', async () => {
    const clock = new VirtualClock(0);
    const arrivals: number[] = [];
    const transport = slowNetwork(clock, async () => {
      arrivals.push(clock.now());
      await clock.sleep(1_000);
      return ANSWER;
    });
    const later = async () => {
      await slowly();
      await transport.send(REQUEST);
    };
    await clock.run(() => Promise.all([transport.send(REQUEST), later()]));
    expect(arrivals).toEqual([0, 0]);
  });

  it('lets no time pass while the bytes of a large body arrive', async () => {
    const clock = new VirtualClock(0);
    let receivedAt = -1;
    const transport = slowNetwork(clock, async ({ body }) => {
      void clock.sleep(10);
      if (typeof body === 'object' && 'open' in body)
        for await (const chunk of body.open()) expect(chunk.length).toBe(MIB);
      receivedAt = clock.now();
      return ANSWER;
    });
    const open = async function* () {
      for (let count = 0; count < 2; count++) {
        await slowly();
        yield new Uint8Array(MIB);
      }
    };
    await clock.run(() => transport.send({ ...REQUEST, method: 'POST', body: { sizeBytes: 2 * MIB, open } }));
    expect(receivedAt).toBe(0);
  });

  it('lets time pass again after a request that the server cut', async () => {
    const clock = new VirtualClock(0);
    const transport = slowNetwork(clock, () => Promise.reject(new Error('cut')));
    await clock.run(async () => {
      await expect(transport.send(REQUEST)).rejects.toThrow('cut');
      await clock.sleep(5_000);
    });
    expect(clock.now()).toBe(5_000);
  });
});
