import { describe, expect, it } from 'vitest';
import { builtInRoles, privilegesOf as knownPrivileges } from './privileges.ts';

const VERSIONS = { 8: '8.4.1', 9: '9.2.11' };
const privilegesOf = (major: 8 | 9, roleid: string) =>
  [...(builtInRoles(VERSIONS[major]).get(roleid)?.privileges ?? [])].sort();

describe('built-in roles', () => {
  it('has all 47 privileges of PVE 9 and all 42 of PVE 8 in Administrator', () => {
    expect(privilegesOf(9, 'Administrator')).toHaveLength(47);
    expect(privilegesOf(8, 'Administrator')).toHaveLength(42);
  });

  it('has one less before the network got its own privilege', () => {
    const missing = [...knownPrivileges('8.2.2')].filter((privilege) => !knownPrivileges('8.1.3').has(privilege));
    expect(missing).toEqual(['Sys.AccessNetwork']);
    expect(knownPrivileges('8.1.3').size).toBe(41);
  });

  it('reserves cluster-wide privileges for Administrator', () => {
    const missing = [...knownPrivileges('9.2.11')].filter(
      (privilege) => !privilegesOf(9, 'PVEAdmin').includes(privilege),
    );
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
    const names = [...builtInRoles('9.2.11').keys()].sort();
    expect([...builtInRoles('8.0.3').keys()].sort()).toEqual(names);
    expect(names).toHaveLength(17);
    expect(names).not.toContain('PVESysUser');
    expect(names).not.toContain('PVEUserUser');
  });
});
