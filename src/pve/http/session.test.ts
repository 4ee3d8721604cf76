import { describe, expect, it } from 'vitest';

import type { WireRequest, WireResponse } from '../../base/transport.ts';
import { bare, errorOf, ok, refused, TOKEN_SECRET, testClient, VERSION } from '../testing/client.ts';
import { passwordCredentials } from './credentials.ts';

const HOUR_MS = 3_600_000;
const credentials = passwordCredentials({ username: 'root@pam', password: 'hunter2' });

describe('a session with a token', () => {
  it('verifies the token with one request, however many callers start at once', async () => {
    const { clock, pve, transport } = testClient(() => ok([]));
    await clock.run(() => Promise.all(Array.from({ length: 20 }, () => pve.nodes())));
    expect(transport.lines().filter((line) => line === 'GET /version')).toHaveLength(1);
    expect(transport.lines()[0]).toBe('GET /version');
    expect(transport.requests).toHaveLength(21);
  });

  it('costs one refusal, not twenty, when the token is wrong', async () => {
    const client = testClient(
      async () => {
        await client.clock.sleep(3_000);
        return bare(401, 'Authentication failed!');
      },
      { rawLogin: true },
    );
    const outcomes = await client.clock.run(() =>
      Promise.allSettled(Array.from({ length: 20 }, () => client.pve.nodes())),
    );
    expect(outcomes.every((outcome) => outcome.status === 'rejected')).toBe(true);
    expect(client.transport.requests).toHaveLength(1);
    const error = await errorOf(client.clock, () => client.pve.nodes());
    expect(client.transport.requests).toHaveLength(1);
    expect(error.code).toBe('LOGIN_REFUSED');
    expect(error.diagnostic.detail).toContain('does not accept deploy@pve!ci: "Authentication failed!"');
    expect(error.message).not.toContain(TOKEN_SECRET);
  });

  it('tries again some time after a refusal', async () => {
    let refusing = true;
    const { clock, pve } = testClient(() => (refusing ? bare(401, 'No ticket') : ok(VERSION)), { rawLogin: true });
    await errorOf(clock, () => pve.authenticate());
    refusing = false;
    await errorOf(clock, () => pve.authenticate());
    await clock.advance(61_000);
    expect((await clock.run(() => pve.authenticate())).major).toBe(9);
  });

  it('does not cache an unreachable server', async () => {
    let away = true;
    const { clock, pve } = testClient(() => (away ? bare(595, 'Connection refused') : ok(VERSION)), { rawLogin: true });
    await errorOf(clock, () => pve.authenticate());
    away = false;
    expect((await clock.run(() => pve.authenticate())).version).toBe('9.2.11');
  });

  it('continues for the other callers when one of them cancels', async () => {
    const stop = new AbortController();
    const client = testClient(
      async () => {
        await client.clock.sleep(1_000);
        return ok(VERSION);
      },
      { rawLogin: true },
    );
    await client.clock.run(async () => {
      const first = client.pve.authenticate({ signal: stop.signal });
      const second = client.pve.authenticate();
      stop.abort();
      await expect(first).rejects.toMatchObject({ code: 'CANCELED' });
      expect((await second).major).toBe(9);
    });
    expect(client.transport.requests).toHaveLength(1);
  });
});

/** A server with tickets: counts them, revokes them on demand, and echoes every other request. */
function ticketServer() {
  const state = { issued: 0, valid: new Set<string>(), passwords: [] as string[] };
  const answer = (request: WireRequest): WireResponse => {
    if (request.target === '/api2/json/access/ticket') {
      const form = new URLSearchParams(String(request.body));
      const password = form.get('password') ?? '';
      state.passwords.push(password);
      if (password !== 'hunter2' && !state.valid.has(password)) return refused(401, 'authentication failure');
      const ticket = `PVE:root@pam:${++state.issued}::sig+/=`;
      state.valid.add(ticket);
      return ok({ username: 'root@pam', ticket, CSRFPreventionToken: `csrf-${state.issued}` });
    }
    const ticket = decodeURIComponent(request.headers.cookie?.replace('PVEAuthCookie=', '') ?? '');
    if (!state.valid.has(ticket)) return bare(401, 'permission denied - invalid PVE ticket');
    if (request.method !== 'GET' && !request.headers.csrfpreventiontoken?.startsWith('csrf-')) {
      return bare(401, 'Permission denied - invalid csrf token');
    }
    return ok(request.target.endsWith('/version') ? VERSION : []);
  };
  return { state, answer };
}

describe('a session with a password', () => {
  it('logs in once for all callers, and sends ticket and CSRF token', async () => {
    const server = ticketServer();
    const { clock, pve, transport } = testClient(server.answer, { credentials, rawLogin: true });
    await clock.run(async () => {
      await Promise.all(Array.from({ length: 5 }, () => pve.nodes()));
      await pve.pools.create({ poolid: 'dev' });
    });
    expect(transport.lines().slice(0, 2)).toEqual(['POST /access/ticket', 'GET /version']);
    expect(server.state.issued).toBe(1);
    expect(transport.requests.at(-1)?.headers).toMatchObject({
      cookie: 'PVEAuthCookie=PVE%3Aroot%40pam%3A1%3A%3Asig%2B%2F%3D',
      csrfpreventiontoken: 'csrf-1',
    });
    expect(transport.requests[0]?.headers.cookie).toBeUndefined();
  });

  it('exchanges the ticket for a fresh one before it ends, without the password', async () => {
    const server = ticketServer();
    const { clock, pve, transport } = testClient(server.answer, { credentials, rawLogin: true });
    await clock.run(() => pve.nodes());
    await clock.advance(1.6 * HOUR_MS);
    await clock.run(() => Promise.all([pve.nodes(), pve.nodes(), pve.nodes()]));
    expect(server.state.passwords).toEqual(['hunter2', 'PVE:root@pam:1::sig+/=']);
    expect(transport.requests.at(-1)?.headers.csrfpreventiontoken).toBe('csrf-2');
  });

  it('logs in again, once, when the server no longer accepts the ticket, and repeats even a change', async () => {
    const server = ticketServer();
    const { clock, pve, transport } = testClient(server.answer, { credentials, rawLogin: true });
    await clock.run(() => pve.nodes());
    server.state.valid.clear();
    await clock.run(() => pve.pools.create({ poolid: 'dev' }));
    expect(transport.lines().slice(-3)).toEqual(['POST /pools', 'POST /access/ticket', 'POST /pools']);
    expect(server.state.passwords).toEqual(['hunter2', 'hunter2']);
  });

  it('falls back to the password if the ticket cannot be renewed', async () => {
    const server = ticketServer();
    const { clock, pve } = testClient(server.answer, { credentials, rawLogin: true });
    await clock.run(() => pve.nodes());
    await clock.advance(3 * HOUR_MS);
    server.state.valid.clear();
    await clock.run(() => pve.nodes());
    expect(server.state.passwords).toEqual(['hunter2', 'PVE:root@pam:1::sig+/=', 'hunter2']);
  });

  it('gives up if the server rejects even a new ticket', async () => {
    const server = ticketServer();
    const { clock, pve, transport } = testClient(
      (request) => {
        const answer = server.answer(request);
        server.state.valid.clear();
        return answer;
      },
      { credentials, rawLogin: true },
    );
    expect((await errorOf(clock, () => pve.nodes())).code).toBe('TICKET_EXPIRED');
    expect(transport.requests.length).toBeLessThan(6);
  });

  it('with a wrong password fails once, and shows no password', async () => {
    const server = ticketServer();
    const wrong = passwordCredentials({ username: 'root@pam', password: 'swordfish' });
    const { clock, pve, transport } = testClient(server.answer, { credentials: wrong, rawLogin: true });
    const outcomes = await clock.run(() => Promise.allSettled([pve.nodes(), pve.nodes(), pve.nodes()]));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    const error = await errorOf(clock, () => pve.nodes());
    expect(error.code).toBe('LOGIN_REFUSED');
    expect(error.message).not.toContain('swordfish');
    expect(transport.requests).toHaveLength(1);
  });

  it('answers the challenge of a second factor with the one-time password', async () => {
    const forms: URLSearchParams[] = [];
    const { clock, pve } = testClient(
      (request) => {
        if (request.target !== '/api2/json/access/ticket') return ok(VERSION);
        const form = new URLSearchParams(String(request.body));
        forms.push(form);
        const half = !form.has('tfa-challenge');
        return ok({
          username: 'root@pam',
          ticket: half ? 'PVE:!tfa!x' : 'PVE:full',
          CSRFPreventionToken: 'c',
          ...(half && { NeedTFA: 1 }),
        });
      },
      {
        credentials: passwordCredentials({ username: 'root@pam', password: 'hunter2', otp: '123456' }),
        rawLogin: true,
      },
    );
    await clock.run(() => pve.authenticate());
    expect(Object.fromEntries(forms[1] ?? [])).toEqual({
      username: 'root@pam',
      password: 'totp:123456',
      'tfa-challenge': 'PVE:!tfa!x',
    });
  });

  it('without the second factor that is needed points to tokens', async () => {
    const half = { username: 'root@pam', ticket: 'PVE:!tfa!x', CSRFPreventionToken: 'c', NeedTFA: 1 };
    const { clock, pve } = testClient(() => ok(half), { credentials, rawLogin: true });
    const error = await errorOf(clock, () => pve.authenticate());
    expect(error.code).toBe('LOGIN_REFUSED');
    expect(error.diagnostic.hint?.text).toContain('pveum user token add');
  });
});
