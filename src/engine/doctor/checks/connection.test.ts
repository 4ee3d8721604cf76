import { describe, expect, it } from 'vitest';
import { ProxwrightError } from '../../../base/errors.ts';
import { observedWith } from '../../../kinds/vm/doctor/testing/patient.ts';
import type { ClusterStatusEntry } from '../../../pve/index.ts';
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

describe('the version check', () => {
  it.each([
    ['9.2.11', 'good'],
    ['8.0.3', 'good'],
    ['7.4.1', 'bad'],
    // A release newer than all known ones is a warning, not an error.
    ['11.0.1', 'warning'],
  ])('%s is %s', (version, verdict) => {
    const observed = observedWith({ version: { version, release: '' } });
    expect(checkVersion({ observed })).toMatchObject([{ verdict, words: expect.stringContaining(version) }]);
  });
});

describe('the token check', () => {
  const token = (value: object) =>
    ({
      ok: true,
      value: { tokenid: 'tok', privsep: undefined, expire: undefined, comment: undefined, ...value },
    }) as const;
  const check = (part: Partial<Parameters<typeof checkToken>[0]>) =>
    checkToken({ principal: 'prov@pve!tok', token: token({ privsep: true }), now: 0, ...part })[0];

  it('names the token, and what privilege separation means', () => {
    expect(check({})?.words).toBe(
      'prov@pve!tok, a token with privilege separation: it has the privileges that both it and prov@pve have.',
    );
    expect(check({ token: token({ privsep: false }) })?.words).toContain('with all privileges of prov@pve');
  });

  it('names a token whose entry cannot be read', () => {
    expect(check({ token: { ok: false, needs: 'User.Modify' } })).toMatchObject({ verdict: 'good' });
  });

  it('warns about a token that expires soon or has expired', () => {
    const soon = check({ token: token({ expire: (48 * HOUR_MS) / 1000 }) });
    expect(soon).toMatchObject({
      verdict: 'warning',
      remedy: expect.stringContaining('pveum user token modify prov@pve tok'),
    });
    expect(check({ token: token({ expire: 1 }), now: HOUR_MS })?.words).toContain('has expired');
    expect(check({ token: token({ expire: 90 * 24 * 3600 }) })?.verdict).toBe('good');
  });

  it('recommends a token instead of a password', () => {
    expect(check({ principal: 'root@pam', token: { ok: true, value: undefined } })).toMatchObject({
      verdict: 'warning',
      remedy: expect.stringContaining('pveum user token add root@pam'),
    });
  });
});

describe('the clock and latency checks', () => {
  const wire = (part: object) => ({ wire: { tookMs: [], skewsMs: [], ...part } });

  it('tolerate truncated seconds and the time of the request', () => {
    expect(checkClock(wire({ skewsMs: [-900, -500, 20] }))).toMatchObject([{ verdict: 'good' }]);
  });

  it('report how far the server is ahead or behind', () => {
    expect(checkClock(wire({ skewsMs: [120_000, 119_500, 119_000] }))[0]?.words).toContain('ahead of');
    expect(checkClock(wire({ skewsMs: [-120_500] }))[0]).toMatchObject({
      verdict: 'warning',
      words: expect.stringContaining('2m 0s behind'),
    });
  });

  it('warn if the server reports no time', () => {
    expect(checkClock(wire({}))).toMatchObject([{ verdict: 'warning' }]);
    expect(checkLatency(wire({}))).toEqual([]);
  });

  it('use the median, not the slowest response', () => {
    expect(checkLatency(wire({ tookMs: [20, 30, 9_000] }))).toMatchObject([{ verdict: 'good' }]);
    expect(checkLatency(wire({ tookMs: [20, 3_000, 9_000] }))).toMatchObject([{ verdict: 'warning' }]);
  });
});

describe('a failed connection', () => {
  it('shows the line to add for an untrusted certificate', () => {
    const error = new ProxwrightError({
      code: 'CERT_UNTRUSTED',
      detail:
        'https://pve1:8006 presented a certificate with SHA-256 fingerprint AA:BB:CC, which is not trusted: it is self-signed.',
      facts: { fingerprint: 'AA:BB:CC' },
    });
    const { check, remedy } = connectionFinding(error);
    expect(check).toBe('certificate');
    expect(remedy?.split('\n').at(-1)).toBe('connection: { fingerprint: "AA:BB:CC" }');
  });

  it('is attributed to the token or the endpoint', () => {
    expect(
      connectionFinding(new ProxwrightError({ code: 'LOGIN_REFUSED', detail: 'No.', hint: 'Another.' })),
    ).toMatchObject({
      check: 'token',
      verdict: 'bad',
      remedy: 'Another.',
    });
    expect(connectionFinding(new ProxwrightError({ code: 'UNREACHABLE', detail: 'No.' })).check).toBe('endpoint');
  });

  it('shows the fingerprint of a pinned certificate', () => {
    expect(checkCertificate({ trust: { kind: 'fingerprint', fingerprint: 'AA:BB' } })[0]).toMatchObject({
      verdict: 'good',
      details: ['fingerprint: "AA:BB"'],
    });
  });
});

describe('an unreachable server', () => {
  const remedyFor = (endpoint: string, systemCode: string) =>
    connectionFinding(
      new ProxwrightError({
        code: 'UNREACHABLE',
        detail: 'It could not be reached.',
        hint: 'x',
        where: { endpoint },
        facts: { systemCode },
      }),
    ).remedy;

  it('comes with a command to try, and the port of Proxmox', () => {
    const refused = remedyFor('https://pve1:443', 'ECONNREFUSED');
    expect(refused).toContain('curl -k https://pve1:443\n');
    expect(refused).toContain('connection.endpoint: https://pve1:8006');
    expect(remedyFor('https://[fd00::1]:8006', 'ECONNREFUSED')).toBe(
      'Try it from here: curl -k https://[fd00::1]:8006\nOn the node: systemctl status pveproxy',
    );
  });

  it('is attributed to the name if it does not resolve', () => {
    expect(remedyFor('https://pve9.lan:8006', 'ENOTFOUND')).toContain('getent hosts pve9.lan');
  });

  it('is attributed to the certificate if the fingerprint is invalid', () => {
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

describe('the quorum check', () => {
  it('accepts a cluster with quorum and a single node', () => {
    expect(check(cluster(true), node('pve1', true), node('pve2', true))).toMatchObject({ verdict: 'good' });
    expect(check(node('pve1', true))?.words).toBe('Single node, no cluster.');
  });

  it('names the offline nodes of a cluster without quorum', () => {
    expect(check(cluster(false), node('pve1', true), node('pve2', false))).toMatchObject({
      verdict: 'bad',
      remedy: expect.stringContaining('pve2'),
    });
  });

  it('warns about an offline node', () => {
    expect(check(cluster(true), node('pve1', true), node('pve2', false))).toMatchObject({ verdict: 'warning' });
  });

  it('reports a quorum that cannot be read as not checked', () => {
    expect(checkQuorum({ cluster: { ok: false, needs: 'Sys.Audit on /' } })).toEqual([
      {
        check: 'quorum',
        verdict: 'unknown',
        words: 'Quorum: not checked, the token needs Sys.Audit on /.',
        needs: 'Sys.Audit on /',
      },
    ]);
  });
});
