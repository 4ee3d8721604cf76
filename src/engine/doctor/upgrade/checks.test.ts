import { describe, expect, it } from 'vitest';
import type { Role } from '../../../pve/index.ts';
import { observedWith, patient, stackFrom, storageRow, templateWith, WEB } from '../testing/patient.ts';
import { checkUpgrade, type UpgradeInput } from './checks.ts';

const role = (roleid: string, ...privs: string[]): Role => ({ roleid, privs, special: undefined });
const upgrade = (part: Partial<UpgradeInput> = {}) => {
  const { stack, observed, now, principal } = patient();
  const from = { version: '8.4.1' };
  const to = { version: '9.0' };
  return checkUpgrade({ from, to, stack, observed, now, principal, roles: [], acl: [], files: [], ...part });
};
const QUIET = stackFrom(WEB.replace('guest: cloud-init', 'guest: plain'));

describe('an upgrade', () => {
  it('that nothing known stands against is one line', () => {
    expect(upgrade({ stack: QUIET })).toMatchObject([
      { verdict: 'good', words: expect.stringContaining('8.4.1 → 9.0') },
    ]);
  });

  it('that has been made already is said', () => {
    expect(upgrade({ from: { version: '9.2.11' } })).toMatchObject([
      { verdict: 'good', words: expect.stringContaining('already') },
    ]);
  });

  it('to a release that nobody knows yet is a warning, no refusal', () => {
    expect(upgrade({ stack: QUIET, to: { version: '12.0' } })).toMatchObject([
      { verdict: 'warning' },
      { verdict: 'good' },
    ]);
  });

  it('names the privileges that the stack will need then', () => {
    expect(upgrade()).toMatchObject([
      {
        verdict: 'warning',
        words: expect.stringContaining('VM.GuestAgent.Audit'),
        remedy: expect.stringContaining('proxwright permissions --lifecycle --pve 9.0'),
      },
    ]);
  });

  it('names roles that lose something, and what those of the token need instead', () => {
    const roles = [role('Lab', 'VM.Audit', 'VM.Monitor'), role('Other', 'VM.Monitor'), role('Fine', 'VM.Audit')];
    const acl = [{ path: '/', type: 'user', ugid: 'prov@pve', roleid: 'Lab', propagate: true } as const];
    expect(upgrade({ roles, acl }).slice(0, 2)).toMatchObject([
      {
        verdict: 'warning',
        words: expect.stringContaining('Lab loses VM.Monitor'),
        remedy: 'After the upgrade, for this stack: pveum role modify Lab --append 1 --privs "VM.GuestAgent.Audit"',
      },
      { verdict: 'warning', words: expect.stringContaining('Other') },
    ]);
    expect(upgrade({ stack: QUIET, roles, acl })).toMatchObject([
      { verdict: 'warning', remedy: expect.stringContaining('give it what its users need') },
      { verdict: 'warning' },
    ]);
  });

  it('names HA groups of the file, with the line', () => {
    const stack = stackFrom(`${WEB.replace('guest: cloud-init', 'guest: plain')}    ha: { group: fast }\n`);
    expect(upgrade({ stack })).toMatchObject([{ verdict: 'bad', where: { field: 'ha.group', line: 13 } }]);
  });

  it('names drives and storages that the release does not know', () => {
    const scsi0 = 'tank:base-9000-disk-0,cyls=10,heads=16,size=4G';
    const observed = observedWith({
      templates: new Map([['#9000', [templateWith({ scsi0 })]]]),
      storages: new Map([['pve1', { ok: true, value: [storageRow({ type: 'glusterfs' })] }]]),
    });
    expect(upgrade({ stack: QUIET, observed })).toMatchObject([
      { verdict: 'bad', remedy: 'On pve1, without them: qm set 9000 --scsi0 tank:base-9000-disk-0,size=4G' },
      { verdict: 'bad', words: expect.stringContaining('glusterfs') },
    ]);
  });

  it('within the same major release breaks none of that', () => {
    const roles = [role('Lab', 'VM.Monitor')];
    expect(upgrade({ roles, to: { version: '8.4.9' } })).toMatchObject([{ verdict: 'good' }]);
  });
});
