/** The server of the page under many requests, and pages that watch and leave. */
import { Agent, request } from 'node:http';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { PAGE } from '../../src/ui/page.generated.ts';
import { servePage } from '../../src/ui/server/server.ts';
import type { PageSource } from '../../src/ui/server/source.ts';

const source: PageSource = {
  stacks: async () => [{ id: 'lab', name: 'lab', file: 'stack.yaml' }],
  view: async () => undefined,
  run: async () => undefined,
  report: async () => undefined,
  pulse: async () => ({ ok: true, value: 'none' }),
};

it('keeps nothing of 10,000 requests and of pages that have gone', async () => {
  const server = await servePage({ source, files: PAGE, clock: systemClock, random: systemRandom, log: silentLogger });
  const { port, pathname, search } = new URL(server.link);
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const get = (path: string, headers: Record<string, string> = {}) =>
    new Promise<{ readonly status: number; readonly cookie: string }>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, headers, agent }, (response) => {
        const cookie = response.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
        response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, cookie }));
      });
      sent.on('error', reject).end();
    });
  const { cookie } = await get(`${pathname}${search}`);
  const watching = Array.from({ length: 20 }, () => {
    const sent = request({ host: '127.0.0.1', port, path: '/api/lab/live', headers: { cookie }, agent: false });
    sent.on('error', () => {}).end();
    return sent;
  });
  await until(() => server.watching === 20);
  for (let round = 0; round < 100; round++) {
    const isKnown = round % 2 === 1;
    const answers = await Promise.all(Array.from({ length: 100 }, () => get('/api', isKnown ? { cookie } : {})));
    expect(answers.every(({ status }) => status === (isKnown ? 200 : 403))).toBe(true);
  }
  for (const sent of watching) sent.destroy();
  await until(() => server.watching === 0);
  agent.destroy();
  await until(() => server.connections === 0);
  await server.close();
});

const MOST_LOOKS = 500;

async function until(isTrue: () => boolean): Promise<void> {
  for (let looks = 0; looks < MOST_LOOKS && !isTrue(); looks++) await systemClock.sleep(20);
  expect(isTrue()).toBe(true);
}
