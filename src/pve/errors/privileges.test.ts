import { describe, expect, it } from 'vitest';
import { missingPrivilege, privilegeHint } from './privileges.ts';

describe('a refused privilege', () => {
  it('is read from the words of the server', () => {
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

  it('needs no grant to root@pam, which has everything except through its tokens', () => {
    expect(privilegeHint('Permission check failed (/sdn/zones/localnetwork/vmbr0, SDN.Use)', 'root@pam!tf')).toBe(
      "Grant it: pveum acl modify /sdn/zones/localnetwork/vmbr0 --tokens 'root@pam!tf' --roles PVESDNUser",
    );
  });

  it('gets a role of its own where no small role holds it', () => {
    expect(privilegeHint('Permission check failed (/, Sys.Modify)', 'deploy@pve')).toBe(
      "Grant it: pveum role add ProxwrightExtra --privs Sys.Modify\npveum acl modify / --users 'deploy@pve' --roles ProxwrightExtra",
    );
  });

  it('that the server does not name is not guessed', () => {
    expect(privilegeHint('Permission check failed', 'deploy@pve!ci')).toContain(
      'pveum user token permissions deploy@pve ci',
    );
  });
});
