/** The gRPC server over a real socket, with handlers that wait until their call ends. */
import { once } from 'node:events';
import { constants } from 'node:http2';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Clock } from '../../base/clock.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { HostClient } from '../testing/host-client.ts';
import { createGrpcServer, type GrpcServer, type Method } from './grpc-server.ts';
import { frame, STATUS } from './grpc-wire.ts';
import { type Listener, listen } from './listen.ts';

const LIMIT_BYTES = 1_000;
const EMPTY = frame(new Uint8Array());
const time = new VirtualClock();
let timers = 0;
const clock: Clock = {
  now: () => time.now(),
  ticks: () => time.ticks(),
  sleep: (ms, signal) => {
    timers += 1;
    return time.sleep(ms, signal).finally(() => {
      timers -= 1;
    });
  },
};
let aborted: number;
let running: number;
let server: GrpcServer;
let listener: Listener;
let client: HostClient;

/** Ends only with its call. */
const waiting: Method = {
  kind: 'unary',
  handle: (_, signal) =>
    new Promise((_resolve, reject) => {
      running += 1;
      signal.addEventListener('abort', () => {
        aborted += 1;
        reject(signal.reason);
      });
    }),
};

const methods = new Map<string, Method>([
  ['/test/Wait', waiting],
  ['/test/Echo', { kind: 'unary', handle: async (message) => message }],
  [
    '/test/Fail',
    {
      kind: 'unary',
      handle: async () => {
        throw new Error('100 % broken');
      },
    },
  ],
]);

beforeEach(async () => {
  aborted = 0;
  running = 0;
  server = createGrpcServer({ methods, maxMessageBytes: LIMIT_BYTES, clock });
  const anywhere = { socketDirectory: undefined, ports: { min: 0, max: 0 } };
  listener = await listen(anywhere, process.platform, (socket) => server.accept(socket));
  client = await HostClient.connect(listener.address);
});

afterEach(async () => {
  await client.close();
  server.close();
  await becomes(() => server.pendingCalls, 0);
  listener.server.close();
  listener.removeFiles();
});

/** Waits as long as a busy machine may need; a test that fails fails by its assertion. */
function becomes(read: () => number, expected: number): Promise<void> {
  return vi.waitFor(() => expect(read()).toBe(expected), { timeout: 30_000 });
}

/** Calls whose handlers are running. */
async function begin(count: number, headers: Readonly<Record<string, string>> = {}) {
  const streams = Array.from({ length: count }, () => client.open('/test/Wait', EMPTY, headers));
  for (const stream of streams) stream.on('error', () => {});
  await becomes(() => running, count);
  expect(server.pendingCalls).toBe(count);
  return streams;
}

describe('a call', () => {
  it('returns the message of its handler', async () => {
    const reply = await client.callRaw('/test/Echo', frame(Buffer.from('x'.repeat(LIMIT_BYTES))));
    expect(reply).toMatchObject({ status: STATUS.ok, message: Buffer.from('x'.repeat(LIMIT_BYTES)) });
    await becomes(() => server.pendingCalls, 0);
  });

  it('answers INTERNAL with the reason if its handler fails', async () => {
    const reply = await client.callRaw('/test/Fail', EMPTY);
    expect(reply).toMatchObject({ status: STATUS.internal, statusMessage: '100 % broken' });
  });

  it('answers UNIMPLEMENTED for an unknown method, and leaves no stream behind', async () => {
    const reply = await client.callRaw('/test/Unknown', EMPTY);
    expect(reply).toMatchObject({ status: STATUS.unimplemented, statusMessage: 'unknown method /test/Unknown' });
  });

  it.each([
    ['inside the head of a frame', [0, 0]],
    ['inside a message', [0, 0, 0, 0, 9, 1, 2]],
  ])('answers INTERNAL if its body ends %s', async (_, body) => {
    expect(await client.callRaw('/test/Echo', Buffer.from(body))).toMatchObject({ status: STATUS.internal });
  });

  it('answers RESOURCE_EXHAUSTED to a message that is too large, without waiting for its end', async () => {
    expect(await client.callRaw('/test/Echo', frame(new Uint8Array(LIMIT_BYTES + 1)))).toMatchObject({
      status: STATUS.resourceExhausted,
    });
    const endless = client.open('/test/Echo');
    endless.write(frame(new Uint8Array(LIMIT_BYTES + 1)));
    const [headers] = await once(endless, 'response');
    expect(headers['grpc-status']).toBe(String(STATUS.resourceExhausted));
    await becomes(() => server.pendingCalls, 0);
  });
});

describe('a cancelled call', () => {
  it('aborts its handler: of 150 cancelled calls none stays pending', async () => {
    for (const stream of await begin(150)) stream.close(constants.NGHTTP2_CANCEL);
    await becomes(() => server.pendingCalls, 0);
    expect(aborted).toBe(150);
    expect(await client.callRaw('/test/Echo', EMPTY)).toMatchObject({ status: STATUS.ok });
  });

  it('does not reach its handler if the message is not complete', async () => {
    const stream = client.open('/test/Wait');
    stream.on('error', () => {});
    stream.write(EMPTY.subarray(0, 3));
    await becomes(() => server.pendingCalls, 1);
    stream.close(constants.NGHTTP2_CANCEL);
    await becomes(() => server.pendingCalls, 0);
    expect(running).toBe(0);
  });

  it('leaves the other calls of its connection alone', async () => {
    const [first] = await begin(2);
    first?.close(constants.NGHTTP2_CANCEL);
    await becomes(() => server.pendingCalls, 1);
    expect(aborted).toBe(1);
  });

  it('ends with its connection', async () => {
    await begin(20);
    await client.close();
    await becomes(() => server.pendingCalls, 0);
    expect(aborted).toBe(20);
  });
});

describe('a deadline', () => {
  it('aborts the handler and answers DEADLINE_EXCEEDED when it passes', async () => {
    const [stream] = await begin(1, { 'grpc-timeout': '5S' });
    const response = once(stream as NonNullable<typeof stream>, 'response');
    await time.advance(4_999);
    expect(aborted).toBe(0);
    await time.advance(1);
    expect((await response)[0]['grpc-status']).toBe(String(STATUS.deadlineExceeded));
    await becomes(() => server.pendingCalls, 0);
    expect(aborted).toBe(1);
  });

  it('ends with the answer', async () => {
    const reply = await client.callRaw('/test/Echo', EMPTY, { 'grpc-timeout': '5S' });
    expect(reply).toMatchObject({ status: STATUS.ok });
    await becomes(() => server.pendingCalls, 0);
    expect(timers).toBe(0);
  });

  it('is refused with INTERNAL if it is malformed', async () => {
    const reply = await client.callRaw('/test/Echo', EMPTY, { 'grpc-timeout': 'soon' });
    expect(reply).toMatchObject({ status: STATUS.internal, statusMessage: 'malformed grpc-timeout soon' });
  });
});
