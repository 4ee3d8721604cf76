/** What a message says about a missing privilege, and the command that grants it. */
import { describe, expect, it } from 'vitest';
import { missingPrivilege, privilegeHint } from './failures.ts';

describe('a refused privilege', () => {
  it('is read from the message of the server', () => {
    expect(missingPrivilege('Permission check failed (/vms/9000, VM.Clone)')).toEqual({
      path: '/vms/9000',
      privileges: ['VM.Clone'],
    });
    expect(
      missingPrivilege('403 Permission check failed (/storage/local, Datastore.Audit|Datastore.AllocateSpace)'),
    ).toEqual({
      path: '/storage/local',
      privileges: ['Datastore.Audit', 'Datastore.AllocateSpace'],
    });
    expect(missingPrivilege("Permission check failed (/, Sys.Modify for modifying tag 'a')")).toEqual({
      path: '/',
      privileges: ['Sys.Modify'],
    });
    expect(missingPrivilege('Permission check failed')).toBeUndefined();
  });

  it('comes with the command that grants it, to the token and to its owner', () => {
    expect(privilegeHint('Permission check failed (/vms/9000, VM.Clone)', 'deploy@pve!ci')).toBe(
      "Grant it: pveum acl modify /vms/9000 --users 'deploy@pve' --tokens 'deploy@pve!ci' --roles PVETemplateUser",
    );
  });

  it('needs no grant for root@pam itself, only for its tokens', () => {
    expect(privilegeHint('Permission check failed (/sdn/zones/localnetwork/vmbr0, SDN.Use)', 'root@pam!tf')).toBe(
      "Grant it: pveum acl modify /sdn/zones/localnetwork/vmbr0 --tokens 'root@pam!tf' --roles PVESDNUser",
    );
  });

  it('gets a custom role if no small role contains it', () => {
    expect(privilegeHint('Permission check failed (/, Sys.Modify)', 'deploy@pve')).toBe(
      "Grant it: pveum role add ProxwrightExtra --privs 'Sys.Modify'\npveum acl modify / --users 'deploy@pve' --roles ProxwrightExtra",
    );
  });

  it('is not guessed if the server does not name it', () => {
    expect(privilegeHint('Permission check failed', 'deploy@pve!ci')).toContain(
      'pveum user token permissions deploy@pve ci',
    );
  });
});

describe('the role of a command that grants', () => {
  it.each([
    ['VM.Clone', 'PVETemplateUser'],
    ['VM.CloneX', 'PVEVMAdmin'],
    ['VM.Audit', 'PVEVMAdmin'],
    ['Datastore.AllocateSpace', 'PVEDatastoreUser'],
    ['Datastore.Audit', 'PVEDatastoreUser'],
    ['Datastore.AllocateTemplate', 'PVEDatastoreAdmin'],
    ['Datastore.AuditX', 'PVEDatastoreAdmin'],
    ['SDN.Use', 'PVESDNUser'],
    ['SDN.Audit', 'PVESDNUser'],
    ['SDN.UseX', 'PVESDNAdmin'],
    ['SDN.Allocate', 'PVESDNAdmin'],
    ['Pool.Audit', 'PVEPoolUser'],
    ['Pool.AuditX', 'PVEPoolAdmin'],
    ['Pool.Allocate', 'PVEPoolAdmin'],
    ['Mapping.Use', 'PVEMappingUser'],
    ['Mapping.Audit', 'PVEMappingUser'],
    ['Mapping.UseX', 'PVEMappingAdmin'],
    ['Mapping.Modify', 'PVEMappingAdmin'],
    ['Sys.Audit', 'PVESysAdmin'],
    ['Sys.Console', 'PVESysAdmin'],
    ['Sys.Syslog', 'PVESysAdmin'],
    ['Sys.SyslogX', 'ProxwrightExtra'],
    ['Sys.Modify', 'ProxwrightExtra'],
    ['XVM.Clone', 'ProxwrightExtra'],
    ['XDatastore.Audit', 'ProxwrightExtra'],
    ['XSDN.Use', 'ProxwrightExtra'],
    ['XPool.Audit', 'ProxwrightExtra'],
    ['XMapping.Use', 'ProxwrightExtra'],
    ['XSys.Audit', 'ProxwrightExtra'],
  ])('for %s is %s, the smallest that holds it', (privilege, role) => {
    expect(privilegeHint(`Permission check failed (/a, ${privilege})`, 'deploy@pve')).toMatch(
      new RegExp(` --roles ${role}$`),
    );
  });

  it('is given to any user, whatever the name', () => {
    expect(privilegeHint('Permission check failed (/a, VM.Audit)', "o'neil@pve")).toContain("--users 'o'\\''neil@pve'");
  });

  it('is not guessed for a user either', () => {
    expect(privilegeHint('Permission check failed', 'deploy@pve')).toContain('pveum user permissions deploy@pve');
  });
});
