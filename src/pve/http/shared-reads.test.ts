import { describe, expect, it } from 'vitest';
import type { Transport, WireRequest } from '../../base/transport.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { shareReads } from './shared-reads.ts';

const get = (target: string): WireRequest => ({ method: 'GET', target, headers: {} });

function counting(status: () => number = () => 200) {
  const sent: string[] = [];
  const transport: Transport = {
    send: async ({ method, target }) => {
      sent.push(`${method} ${target}`);
      return { status: status(), reason: '', headers: {}, body: String(sent.length) };
    },
    close: async () => {},
  };
  return { sent, transport };
}

describe('shared reads', () => {
  const clock = new VirtualClock();

  it('send one request for all callers, also concurrent ones', async () => {
    const { sent, transport } = counting();
    const shared = shareReads(transport, clock, 1000);
    const answers = await Promise.all([shared.send(get('/a')), shared.send(get('/a')), shared.send(get('/b'))]);
    expect(answers.map(({ body }) => body)).toEqual(['1', '1', '2']);
    expect((await shared.send(get('/a'))).body).toBe('1');
    expect(sent).toEqual(['GET /a', 'GET /b']);
  });

  it('are not shared at all with an age of 0, unless the caller accepts an older response', async () => {
    const { sent, transport } = counting();
    const shared = shareReads(transport, clock, 0);
    for (const options of [{}, {}, { maxAgeMs: 5 }, { maxAgeMs: 5 }, {}]) await shared.send(get('/a'), options);
    expect(sent).toHaveLength(4);
  });

  it('of a guest are read again after a change to it, not those of others', async () => {
    const { sent, transport } = counting();
    const shared = shareReads(transport, clock, 1000);
    const [changed, other] = ['/nodes/pve1/qemu/100/pending', '/nodes/pve1/qemu/1000/pending'].map(get);
    if (!changed || !other) throw new Error('two requests');
    await shared.send(changed);
    await shared.send(other);
    await shared.send({ method: 'POST', target: '/nodes/pve1/qemu/100/template', headers: {} });
    sent.length = 0;
    await shared.send(changed);
    await shared.send(other);
    expect(sent).toEqual([`GET ${changed.target}`]);
  });

  it('pass the accepted age on to the cache below', async () => {
    const { sent, transport } = counting();
    const below = shareReads(transport, clock, 0);
    const shared = shareReads(below, clock, 1000);
    for (const options of [{}, { maxAgeMs: 5 }]) {
      for (let turn = 0; turn < 2; turn++) {
        shared.forget();
        await shared.send(get(`/${options.maxAgeMs ?? 'now'}`), options);
      }
    }
    expect(sent).toEqual(['GET /now', 'GET /now', 'GET /5']);
  });

  it('read again after `forget`', async () => {
    const { sent, transport } = counting();
    const shared = shareReads(transport, clock, 1000);
    await shared.send(get('/a'));
    shared.forget();
    await shared.send(get('/a'));
    expect(sent).toHaveLength(2);
  });

  it('do not cache failures and error statuses', async () => {
    const statuses = [500, 200];
    const { sent, transport } = counting(() => statuses.shift() ?? 200);
    const shared = shareReads(transport, clock, 1000);
    expect((await shared.send(get('/a'))).status).toBe(500);
    expect((await shared.send(get('/a'))).status).toBe(200);
    expect(sent).toHaveLength(2);
  });

  it('let one caller cancel alone, and never cache a write', async () => {
    const { sent, transport } = counting();
    const shared = shareReads(transport, clock, 1000);
    const leaving = new AbortController();
    const both = [shared.send(get('/a'), { signal: leaving.signal }), shared.send(get('/a'))];
    leaving.abort();
    const [left, stayed] = await Promise.allSettled(both);
    expect([left?.status, stayed?.status]).toEqual(['rejected', 'fulfilled']);
    await shared.send({ method: 'POST', target: '/a', headers: {} });
    await shared.send({ method: 'POST', target: '/a', headers: {} });
    expect(sent).toEqual(['GET /a', 'POST /a', 'POST /a']);
  });

  it('expire', async () => {
    const { sent, transport } = counting();
    const ownClock = new VirtualClock();
    const shared = shareReads(transport, ownClock, 1000);
    await shared.send(get('/a'));
    await ownClock.run(() => ownClock.sleep(1001));
    await shared.send(get('/a'));
    expect(sent).toHaveLength(2);
  });
});
