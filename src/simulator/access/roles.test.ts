import { describe, expect, it } from 'vitest';
import { PRIVILEGES } from './privileges.ts';
import { builtInRoles } from './roles.ts';

const privilegesOf = (major: 8 | 9, roleid: string) => [...(builtInRoles(major).get(roleid)?.privileges ?? [])].sort();

describe('built-in roles', () => {
  it('has all 47 privileges of PVE 9 and all 42 of PVE 8 in Administrator', () => {
    expect(privilegesOf(9, 'Administrator')).toHaveLength(47);
    expect(privilegesOf(8, 'Administrator')).toHaveLength(42);
  });

  it('leaves to Administrator what touches the cluster itself', () => {
    const missing = [...PRIVILEGES[9]].filter((privilege) => !privilegesOf(9, 'PVEAdmin').includes(privilege));
    expect(missing).toEqual([
      'Mapping.Modify',
      'Permissions.Modify',
      'Realm.Allocate',
      'Sys.AccessNetwork',
      'Sys.Incoming',
      'Sys.Modify',
      'Sys.PowerMgmt',
    ]);
  });

  it('replaces VM.Monitor of PVE 8 by privileges of the guest agent', () => {
    expect(privilegesOf(8, 'PVEVMAdmin')).toContain('VM.Monitor');
    expect(privilegesOf(9, 'PVEVMAdmin')).not.toContain('VM.Monitor');
    expect(privilegesOf(9, 'PVEVMUser')).toEqual([
      'VM.Audit',
      'VM.Backup',
      'VM.Config.CDROM',
      'VM.Config.Cloudinit',
      'VM.Console',
      'VM.GuestAgent.Audit',
      'VM.GuestAgent.FileRead',
      'VM.GuestAgent.FileSystemMgmt',
      'VM.GuestAgent.FileWrite',
      'VM.PowerMgmt',
    ]);
  });

  it('has the same 17 roles in both versions, none for users of the host or of accounts', () => {
    const names = [...builtInRoles(9).keys()].sort();
    expect([...builtInRoles(8).keys()].sort()).toEqual(names);
    expect(names).toHaveLength(17);
    expect(names).not.toContain('PVESysUser');
    expect(names).not.toContain('PVEUserUser');
  });
});
