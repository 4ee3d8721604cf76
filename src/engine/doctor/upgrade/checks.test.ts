import { describe, expect, it } from 'vitest';
import {
  observedWith,
  patient,
  stackFrom,
  storageRow,
  templateWith,
  WEB,
} from '../../../kinds/vm/doctor/testing/patient.ts';
import type { Role } from '../../../pve/index.ts';
import { checkUpgrade, type UpgradeInput } from './checks.ts';

const role = (roleid: string, ...privs: string[]): Role => ({ roleid, privs, special: undefined });
const upgrade = (part: Partial<UpgradeInput> = {}) => {
  const { stack, observed, now, principal } = patient();
  const from = { version: '8.4.1' };
  const to = { version: '9.0' };
  return checkUpgrade({ from, to, stack, observed, now, principal, roles: [], acl: [], files: [], ...part });
};
const QUIET = stackFrom(WEB.replace('guest: cloud-init', 'guest: plain'));

describe('the upgrade checks', () => {
  it('report one line if no problem is known', () => {
    expect(upgrade({ stack: QUIET })).toMatchObject([
      { verdict: 'good', words: expect.stringContaining('8.4.1 → 9.0') },
    ]);
  });

  it('report that the server already runs the release', () => {
    expect(upgrade({ from: { version: '9.2.11' } })).toMatchObject([
      { verdict: 'good', words: expect.stringContaining('already') },
    ]);
  });

  it('warn about an unknown release', () => {
    expect(upgrade({ stack: QUIET, to: { version: '12.0' } })).toMatchObject([
      { verdict: 'warning' },
      { verdict: 'good' },
    ]);
  });

  it('name the privileges that the stack will need', () => {
    expect(upgrade()).toMatchObject([
      {
        verdict: 'warning',
        words: expect.stringContaining('VM.GuestAgent.Audit'),
        remedy: expect.stringContaining('proxwright permissions --lifecycle --pve 9.0'),
      },
    ]);
  });

  it('name roles that lose privileges, and what the role of the token needs instead', () => {
    const roles = [role('Lab', 'VM.Audit', 'VM.Monitor'), role('Other', 'VM.Monitor'), role('Fine', 'VM.Audit')];
    const acl = [{ path: '/', type: 'user', ugid: 'prov@pve', roleid: 'Lab', propagate: true } as const];
    expect(upgrade({ roles, acl }).slice(0, 2)).toMatchObject([
      {
        verdict: 'warning',
        words: expect.stringContaining('Lab loses VM.Monitor'),
        remedy: "After the upgrade, run for this stack: pveum role modify Lab --append 1 --privs 'VM.GuestAgent.Audit'",
      },
      { verdict: 'warning', words: expect.stringContaining('Other') },
    ]);
    expect(upgrade({ stack: QUIET, roles, acl })).toMatchObject([
      { verdict: 'warning', remedy: expect.stringContaining('add what its users need') },
      { verdict: 'warning' },
    ]);
  });

  it('name HA groups of the file, with the line', () => {
    const stack = stackFrom(`${WEB.replace('guest: cloud-init', 'guest: plain')}    ha: { group: fast }\n`);
    expect(upgrade({ stack })).toMatchObject([{ verdict: 'bad', where: { field: 'ha.group', line: 13 } }]);
  });

  it('name drive options and storage types that the release removes', () => {
    const scsi0 = 'tank:base-9000-disk-0,cyls=10,heads=16,size=4G';
    const observed = observedWith({
      templates: new Map([['#9000', [templateWith({ scsi0 })]]]),
      storages: new Map([['pve1', { ok: true, value: [storageRow({ type: 'glusterfs' })] }]]),
    });
    expect(upgrade({ stack: QUIET, observed })).toMatchObject([
      { verdict: 'bad', remedy: 'Remove the options on pve1: qm set 9000 --scsi0 tank:base-9000-disk-0,size=4G' },
      { verdict: 'bad', words: expect.stringContaining('glusterfs') },
    ]);
  });

  it('report none of this within a major release', () => {
    const roles = [role('Lab', 'VM.Monitor')];
    expect(upgrade({ roles, to: { version: '8.4.9' } })).toMatchObject([{ verdict: 'good' }]);
  });
});
