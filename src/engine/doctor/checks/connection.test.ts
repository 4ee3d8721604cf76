import { describe, expect, it } from 'vitest';
import { ProxwrightError } from '../../../base/errors.ts';
import type { ClusterStatusEntry } from '../../../pve/index.ts';
import { observedWith } from '../testing/patient.ts';
import {
  checkCertificate,
  checkClock,
  checkLatency,
  checkQuorum,
  checkToken,
  checkVersion,
  connectionFinding,
} from './connection.ts';

const HOUR_MS = 3_600_000;

describe('the version', () => {
  it.each([
    ['9.2.11', 'good'],
    ['8.0.3', 'good'],
    ['7.4.1', 'bad'],
    // Newer than all that is known is worth a word, no refusal.
    ['11.0.1', 'warning'],
  ])('%s is %s', (version, verdict) => {
    const observed = observedWith({ version: { version, release: '' } });
    expect(checkVersion({ observed })).toMatchObject([{ verdict, words: expect.stringContaining(version) }]);
  });
});

describe('the token', () => {
  const token = (value: object) =>
    ({
      ok: true,
      value: { tokenid: 'tok', privsep: undefined, expire: undefined, comment: undefined, ...value },
    }) as const;
  const check = (part: Partial<Parameters<typeof checkToken>[0]>) =>
    checkToken({ principal: 'prov@pve!tok', token: token({ privsep: true }), now: 0, ...part })[0];

  it('is named with its owner, and with what separation means', () => {
    expect(check({})?.words).toBe('prov@pve!tok, a token separated from prov@pve: it may do what both may do.');
    expect(check({ token: token({ privsep: false }) })?.words).toContain('with all rights of prov@pve');
  });

  it('is still named where its entry may not be read', () => {
    expect(check({ token: { ok: false, needs: 'User.Modify' } })).toMatchObject({ verdict: 'good' });
  });

  it('that expires soon, or has, is told with the command that keeps it', () => {
    const soon = check({ token: token({ expire: (48 * HOUR_MS) / 1000 }) });
    expect(soon).toMatchObject({
      verdict: 'warning',
      remedy: expect.stringContaining('pveum user token modify prov@pve tok'),
    });
    expect(check({ token: token({ expire: 1 }), now: HOUR_MS })?.words).toContain('has expired');
    expect(check({ token: token({ expire: 90 * 24 * 3600 }) })?.verdict).toBe('good');
  });

  it('is recommended to whoever comes with a password', () => {
    expect(check({ principal: 'root@pam', token: { ok: true, value: undefined } })).toMatchObject({
      verdict: 'warning',
      remedy: expect.stringContaining('pveum user token add root@pam'),
    });
  });
});

describe('clock and latency', () => {
  const wire = (part: object) => ({ wire: { tookMs: [], skewsMs: [], ...part } });

  it('forgive the second that dates cut off, and the time of the way', () => {
    expect(checkClock(wire({ skewsMs: [-900, -500, 20] }))).toMatchObject([{ verdict: 'good' }]);
  });

  it('say by how much the server is ahead or behind', () => {
    expect(checkClock(wire({ skewsMs: [120_000, 119_500, 119_000] }))[0]?.words).toContain('ahead of');
    expect(checkClock(wire({ skewsMs: [-120_500] }))[0]).toMatchObject({
      verdict: 'warning',
      words: expect.stringContaining('2m 0s behind'),
    });
  });

  it('do not guess where the server gives no time', () => {
    expect(checkClock(wire({}))).toMatchObject([{ verdict: 'warning' }]);
    expect(checkLatency(wire({}))).toEqual([]);
  });

  it('judge by the middle answer, not by the slowest', () => {
    expect(checkLatency(wire({ tookMs: [20, 30, 9_000] }))).toMatchObject([{ verdict: 'good' }]);
    expect(checkLatency(wire({ tookMs: [20, 3_000, 9_000] }))).toMatchObject([{ verdict: 'warning' }]);
  });
});

describe('no connection', () => {
  it('because of the certificate comes with the line to paste', () => {
    const error = new ProxwrightError({
      code: 'CERT_UNTRUSTED',
      detail:
        'https://pve1:8006 presented a certificate with SHA-256 fingerprint AA:BB:CC, which is not trusted: it is self-signed.',
    });
    const { check, remedy } = connectionFinding(error);
    expect(check).toBe('certificate');
    expect(remedy?.split('\n').at(-1)).toBe('connection: { fingerprint: "AA:BB:CC" }');
  });

  it('because of the token or the way is told as such', () => {
    expect(
      connectionFinding(new ProxwrightError({ code: 'LOGIN_REFUSED', detail: 'No.', hint: 'Another.' })),
    ).toMatchObject({
      check: 'token',
      verdict: 'bad',
      remedy: 'Another.',
    });
    expect(connectionFinding(new ProxwrightError({ code: 'UNREACHABLE', detail: 'No.' })).check).toBe('endpoint');
  });

  it('is not the case with a pinned certificate, whose line is shown', () => {
    expect(checkCertificate({ trust: { kind: 'fingerprint', fingerprint: 'AA:BB' } })[0]).toMatchObject({
      verdict: 'good',
      details: ['fingerprint: "AA:BB"'],
    });
  });
});

describe('no way to the server', () => {
  const remedyFor = (url: string, why: string) =>
    connectionFinding(
      new ProxwrightError({ code: 'UNREACHABLE', detail: `${url} could not be reached: ${why}.`, hint: 'x' }),
    ).remedy;

  it('is told with what to try from here, and where Proxmox listens', () => {
    const refused = remedyFor('https://pve1:443', 'connection refused');
    expect(refused).toContain('curl -k https://pve1:443\n');
    expect(refused).toContain('connection.endpoint: https://pve1:8006');
    expect(remedyFor('https://[fd00::1]:8006', 'connection refused')).toBe(
      'Try from here: curl -k https://[fd00::1]:8006\nOn the node: systemctl status pveproxy',
    );
  });

  it('is a matter of the name where that is not known', () => {
    expect(remedyFor('https://pve9.lan:8006', 'the host name is not known')).toContain('getent hosts pve9.lan');
  });

  it('is a matter of the certificate where the fingerprint is not one', () => {
    const error = new ProxwrightError({
      code: 'BAD_VALUE',
      detail: 'x',
      hint: 'y',
      where: { file: 'PROXMOX_VE_FINGERPRINT' },
    });
    expect(connectionFinding(error).check).toBe('certificate');
  });
});

const NOTHING = { quorate: undefined, online: undefined, local: undefined, ip: undefined };
const node = (name: string, online: boolean): ClusterStatusEntry => ({ ...NOTHING, type: 'node', name, online });
const cluster = (quorate: boolean): ClusterStatusEntry => ({ ...NOTHING, type: 'cluster', name: 'lab', quorate });
const check = (...value: ClusterStatusEntry[]) => checkQuorum({ cluster: { ok: true, value } })[0];

describe('the quorum', () => {
  it('is there, or there is nobody to agree with', () => {
    expect(check(cluster(true), node('pve1', true), node('pve2', true))).toMatchObject({ verdict: 'good' });
    expect(check(node('pve1', true))?.words).toContain('by itself');
  });

  it('is missing, and the nodes that are away are named', () => {
    expect(check(cluster(false), node('pve1', true), node('pve2', false))).toMatchObject({
      verdict: 'bad',
      remedy: expect.stringContaining('pve2'),
    });
  });

  it('is worth a word while a node is away', () => {
    expect(check(cluster(true), node('pve1', true), node('pve2', false))).toMatchObject({ verdict: 'warning' });
  });

  it('is not taken for granted where it may not be read', () => {
    expect(checkQuorum({ cluster: { ok: false, needs: 'Sys.Audit on /' } })).toEqual([
      { check: 'quorum', verdict: 'unknown', words: 'Quorum: not checked, the token needs Sys.Audit on /.' },
    ]);
  });
});
