/** The server of the page: who gets an answer, and what is left when they have gone. */
import { type IncomingHttpHeaders, request } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { PAGE } from '../../src/ui/page.generated.ts';
import type { PageServer } from '../../src/ui/server/serve.ts';
import { servePage } from '../../src/ui/server/server.ts';
import type { PageSource } from '../../src/ui/server/source.ts';

interface Got {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const asked: string[] = [];
const source: PageSource = {
  stacks: async () => [{ id: 'lab', name: 'lab', file: 'stack.yaml' }],
  view: async (stack, name) => {
    asked.push(`${stack}/${name}`);
    return stack === 'lab' ? { ok: false, problems: [] } : undefined;
  },
  run: async () => undefined,
  report: async () => undefined,
  pulse: async () => ({ ok: true, value: 'none' }),
};

let server: PageServer;
beforeEach(async () => {
  asked.length = 0;
  server = await servePage({ source, files: PAGE, clock: systemClock, random: systemRandom, log: silentLogger });
});
afterEach(() => server.close());

const portOf = () => Number(new URL(server.link).port);

function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: portOf(), path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.headers, text: Buffer.concat(chunks).toString() }),
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}

async function login(): Promise<Record<string, string>> {
  const { pathname, search } = new URL(server.link);
  const { headers } = await get(`${pathname}${search}`);
  return { cookie: headers['set-cookie']?.[0]?.split(';')[0] ?? '' };
}

describe('the server of the page', () => {
  it('listens on this machine alone, and exchanges the token of the link for a cookie once', async () => {
    const { hostname, pathname, search } = new URL(server.link);
    expect(hostname).toBe('127.0.0.1');
    const first = await get(`${pathname}${search}`);
    expect(first).toMatchObject({ status: 303, headers: { location: '/' } });
    expect(first.headers['set-cookie']?.[0]).toMatch(
      /^proxwright-\d+=[0-9a-f]{32}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(await get(`${pathname}${search}`)).toMatchObject({ status: 403 });
  });

  it.each([
    '/',
    '/app.js',
    '/app.css',
    '/api',
    '/api/lab/plan',
    '/api/lab/live',
    '/report/lab/r1',
    '/?token=wrong',
    '/nothing',
  ])('does not answer %s without the cookie', async (path) => {
    const { status, text } = await get(path);
    expect(status).toBe(403);
    expect(text).toContain('Open the link');
    expect(asked).toEqual([]);
  });

  it.each<[string, (cookie: Record<string, string>) => Record<string, string>]>([
    ['another Host', (cookie) => ({ ...cookie, host: `attacker.example:${portOf()}` })],
    ['a Host without the port', (cookie) => ({ ...cookie, host: '127.0.0.1' })],
    ['another Origin', (cookie) => ({ ...cookie, origin: 'https://attacker.example' })],
    ['an opaque Origin', (cookie) => ({ ...cookie, origin: 'null' })],
  ])('refuses %s, also with the cookie', async (_, headers) => {
    expect((await get('/api/lab/plan', headers(await login()))).status).toBe(403);
    expect(asked).toEqual([]);
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('refuses %s: nothing can be changed', async (method) => {
    expect((await get('/api/lab/plan', await login(), method)).status).toBe(405);
    expect(asked).toEqual([]);
  });

  it.each([
    '/../../etc/passwd',
    '/..%2f..%2fetc%2fpasswd',
    '/api/..%2f..%2f/plan',
    '/api/lab/%00',
    '/%',
    '/api/lab/plan/x/y/z',
    '/api/other/plan',
  ])('has nothing at %s', async (path) => {
    expect((await get(path, await login())).status).toBe(404);
  });

  it('serves the page with a policy that allows only itself', async () => {
    const cookie = await login();
    const { status, headers, text } = await get('/', cookie);
    expect(status).toBe(200);
    expect(text).not.toMatch(/https?:|style=|onclick/);
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    expect(headers['content-security-policy']).not.toContain('unsafe');
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    expect((await get('/api/lab/plan', { ...cookie, origin: `http://127.0.0.1:${portOf()}` })).status).toBe(200);
  });
});
