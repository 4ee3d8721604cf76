import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { roughSize } from '../../kinds/doctor/finding.ts';
import { median, WireWatch } from './examination.ts';

describe('WireWatch', () => {
  it('measures response times and clock skew', async () => {
    const clock = new VirtualClock();
    const watch = new WireWatch(clock);
    const start = clock.now();
    const date = new Date(start + 61_000).toUTCString();
    const transport = watch.watch({
      send: async (request) => {
        await clock.sleep(200);
        return { status: 200, reason: '', headers: request.target === '/a' ? { date } : {}, body: '' };
      },
      close: async () => {},
    });
    await clock.run(async () => {
      for (const target of ['/a', '/b']) await transport.send({ method: 'GET', target, headers: {} });
    });
    expect(watch.tookMs).toEqual([200, 200]);
    expect(watch.skewsMs).toEqual([Date.parse(date) - (start + 100)]);
  });

  it('has no median without responses', () => {
    expect(median([])).toBeUndefined();
    expect(median([9, 1, 5])).toBe(5);
  });
});

describe('roughSize', () => {
  it.each([
    [0, '0 B'],
    [512 * 1024 ** 2, '512 MiB'],
    [833_584 * 1024 ** 2, '814 GiB'],
    [2.5 * 1024 ** 4, '2.5 TiB'],
  ])('prints %i bytes as %s', (bytes, text) => {
    expect(roughSize(bytes)).toBe(text);
  });
});
