import { beforeEach, describe, expect, it } from 'vitest';
import { grant, refusalOf, testRuntime } from '../testing/access.ts';
import { authenticate, issueCsrfToken, issueTicket } from './authenticate.ts';

const TWO_HOURS_MS = 2 * 3600 * 1000;
let runtime: ReturnType<typeof testRuntime>;

beforeEach(() => {
  runtime = testRuntime();
});

const login = (headers: Record<string, string>, method = 'GET', path = '/version') =>
  authenticate(runtime, { method, path, headers });

const secretOf = (authid: string) => runtime.world.access.tokens.get(authid)?.secret ?? '';
const token = (authid: string, secret = secretOf(authid)) => ({ authorization: `PVEAPIToken=${authid}=${secret}` });
const cookie = (userid: string) => ({
  cookie: `lang=en; PVEAuthCookie=${encodeURIComponent(issueTicket(runtime, userid))}`,
});
const failed = { ok: false, status: 401, reason: 'Authentication failed!' };

describe('logging in with a token', () => {
  it('accepts the equals sign and the blank after the scheme', () => {
    const caller = { userid: 'vmadmin@pve', tokenid: 't2', authid: 'vmadmin@pve!t2', isRoot: false };
    expect(login(token('vmadmin@pve!t2'))).toEqual({ ok: true, caller });
    expect(login({ authorization: `PVEAPIToken vmadmin@pve!t2=${secretOf('vmadmin@pve!t2')}` })).toEqual({
      ok: true,
      caller,
    });
  });

  it('reads an escaped token id and stops at a semicolon', () => {
    const authorization = `PVEAPIToken=vmadmin%40pve%21t2=${secretOf('vmadmin@pve!t2')}; other`;
    expect(login({ authorization }).ok).toBe(true);
  });

  it('does not treat a token of root@pam as root', () => {
    expect(login(token('root@pam!test'))).toMatchObject({ ok: true, caller: { isRoot: false } });
  });

  it('gives the same answer for a wrong secret, an unknown token, an unknown user and malformed text', () => {
    expect(login(token('root@pam!test', 'wrong'))).toEqual(failed);
    expect(login(token('root@pam!nosuch', 'x'))).toEqual(failed);
    expect(login(token('ghost@pve!tok', 'x'))).toEqual(failed);
    expect(login({ authorization: 'PVEAPIToken=nonsense' })).toEqual(failed);
  });

  it('refuses expired tokens, and tokens of disabled or expired users', () => {
    const nowSeconds = Math.floor(runtime.clock.now() / 1000);
    const t2 = runtime.world.access.tokens.get('vmadmin@pve!t2');
    const user = runtime.world.access.users.get('vmadmin@pve');
    if (!t2 || !user) throw new Error('not in the recorded world');
    t2.expire = nowSeconds - 1;
    expect(login(token('vmadmin@pve!t2'))).toEqual(failed);
    t2.expire = nowSeconds;
    expect(login(token('vmadmin@pve!t2')).ok).toBe(true);
    user.expire = nowSeconds - 1;
    expect(login(token('vmadmin@pve!t2'))).toEqual(failed);
    user.expire = 0;
    user.enable = false;
    expect(login(token('vmadmin@pve!t2'))).toEqual(failed);
  });

  it('asks for a ticket when nothing was sent', () => {
    expect(login({})).toEqual({ ok: false, status: 401, reason: 'No ticket' });
    expect(login({ cookie: 'PVEAuthCookie=' })).toEqual({ ok: false, status: 401, reason: 'No ticket' });
  });
});

describe('logging in with a ticket', () => {
  it('takes it from the cookie or the Authorization header, and prefers it to a token', () => {
    expect(login(cookie('root@pam'))).toMatchObject({ ok: true, caller: { authid: 'root@pam', isRoot: true } });
    expect(login({ authorization: `PVEAuthCookie=${issueTicket(runtime, 'vmadmin@pve')}` }).ok).toBe(true);
    expect(login({ cookie: 'PVEAuthCookie=PVE:root@pam:00000000::forged', ...token('root@pam!test') })).toEqual(failed);
  });

  it('lives for two hours', async () => {
    const headers = cookie('root@pam');
    await runtime.clock.advance(TWO_HOURS_MS - 1000);
    expect(login(headers).ok).toBe(true);
    await runtime.clock.advance(1000);
    expect(login(headers)).toEqual(failed);
  });

  it('needs the CSRF token of the same user for everything but reading', () => {
    const refused = { ok: false, status: 401, reason: 'Permission denied - invalid csrf token' };
    const headers = cookie('root@pam');
    expect(login(headers, 'PUT')).toEqual(refused);
    expect(login({ ...headers, csrfpreventiontoken: issueCsrfToken(runtime, 'vmadmin@pve') }, 'PUT')).toEqual(refused);
    expect(login({ ...headers, csrfpreventiontoken: issueCsrfToken(runtime, 'root@pam') }, 'PUT').ok).toBe(true);
  });

  it('refuses a ticket whose user was altered', () => {
    const forged = issueTicket(runtime, 'vmadmin@pve').replace('vmadmin@pve', 'root@pam');
    expect(login({ cookie: `PVEAuthCookie=${forged}` })).toEqual(failed);
  });
});

describe('exceptions from the login', () => {
  it('allows the login form without credentials', () => {
    expect(login({}, 'POST', '/access/ticket')).toMatchObject({ ok: true, caller: { authid: '' } });
    expect(login({}, 'GET', '/access/domains').ok).toBe(true);
    expect(login({}, 'GET', '/access/users').ok).toBe(false);
  });

  it('checks the privilege of an upload instead of the CSRF token', () => {
    const path = '/nodes/pve1/storage/local/upload';
    grant(runtime, 'up@pve', '/storage/local', ['Datastore.AllocateTemplate']);
    grant(runtime, 'down@pve', '/storage/local', ['Datastore.Audit']);
    expect(login(cookie('up@pve'), 'POST', path).ok).toBe(true);
    expect(refusalOf(() => login(cookie('down@pve'), 'POST', path))).toBe(
      '403 Permission check failed (/storage/local, Datastore.AllocateTemplate)',
    );
  });
});
