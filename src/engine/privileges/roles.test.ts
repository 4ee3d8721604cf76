import { describe, expect, it } from 'vitest';
import type { AclPath, OneOf } from '../../kinds/privileges/need.ts';
import { pveumCommands } from './pveum.ts';
import type { Requirement } from './requirement.ts';
import { compareWithGrants, smallestRoles } from './roles.ts';

const PVE9 = { version: '9.2.11' };
const PVE8 = { version: '8.4.1' };

function requirement(privileges: OneOf<string>, ...paths: OneOf<string | AclPath>): Requirement {
  const [first, ...rest] = paths.map((path) => (typeof path === 'string' ? { path } : path));
  if (!first) throw new Error('a requirement has a path');
  return { privileges, paths: [first, ...rest], because: [{ where: { address: 'vm.web' }, step: 'vm.clone' }] };
}

const TEMPLATE = [requirement(['VM.Audit'], '/vms/9000'), requirement(['VM.Clone'], '/vms/9000')];
const grantsOf = (granted: Readonly<Record<string, Readonly<Record<string, boolean>>>>) => ({
  on: (path: string) => new Map(Object.entries(granted[path] ?? {})),
});

describe('the smallest roles', () => {
  it('are one for each kind of object, with an entry on each path', () => {
    const roles = smallestRoles(
      [
        ...TEMPLATE,
        requirement(['VM.Allocate'], '/vms/401'),
        requirement(['VM.PowerMgmt'], '/vms/402'),
        requirement(['Datastore.AllocateSpace'], '/storage/local'),
      ],
      { version: PVE9 },
    );
    expect(roles).toEqual({
      roles: [
        { name: 'Proxwright-Template', privileges: ['VM.Audit', 'VM.Clone'] },
        { name: 'Proxwright-VM', privileges: ['VM.Allocate', 'VM.PowerMgmt'] },
        { name: 'Proxwright-Storage', privileges: ['Datastore.AllocateSpace'] },
      ],
      acl: [
        { path: '/vms/9000', role: 'Proxwright-Template', propagate: false },
        { path: '/vms/401', role: 'Proxwright-VM', propagate: false },
        { path: '/vms/402', role: 'Proxwright-VM', propagate: false },
        { path: '/storage/local', role: 'Proxwright-Storage', propagate: false },
      ],
    });
  });

  it('prefer alternatives that are needed anyway, then those already granted, then the first', () => {
    const either = requirement(['VM.Config.Cloudinit', 'VM.Config.Network'], '/vms/401');
    const rolesOf = (...requirements: Requirement[]) =>
      smallestRoles(requirements, { version: PVE9 }).roles.map(({ privileges }) => privileges);
    expect(rolesOf(either, requirement(['VM.Config.Network'], '/vms/401'))).toEqual([['VM.Config.Network']]);
    expect(rolesOf(either)).toEqual([['VM.Config.Cloudinit']]);
    const granted = grantsOf({ '/vms/401': { 'VM.Config.Network': true } });
    expect(smallestRoles([either], { version: PVE9, granted }).roles[0]?.privileges).toEqual(['VM.Config.Network']);
  });

  it('contain no privilege that the server does not know', () => {
    const both = requirement(['VM.GuestAgent.Audit', 'VM.Monitor'], '/vms/401');
    expect(smallestRoles([both], { version: PVE9 }).roles[0]?.privileges).toEqual(['VM.GuestAgent.Audit']);
    expect(smallestRoles([both], { version: PVE8 }).roles[0]?.privileges).toEqual(['VM.Monitor']);
  });

  it('put strong privileges into a separate role', () => {
    const { roles, acl } = smallestRoles(
      [
        requirement(['VM.Audit'], '/vms/401'),
        requirement(['VM.Audit'], '/vms/402'),
        requirement(['VM.GuestAgent.Unrestricted'], '/vms/402'),
      ],
      { version: PVE9 },
    );
    expect(roles.map(({ name }) => name)).toEqual(['Proxwright-VM', 'Proxwright-VM-Strong']);
    expect(acl.filter(({ role }) => role === 'Proxwright-VM-Strong').map(({ path }) => path)).toEqual(['/vms/402']);
  });

  it('allow deleting files on storages with files, not on storages with disks', () => {
    const { roles, acl } = smallestRoles(
      [
        requirement(['Datastore.Allocate'], '/storage/local'),
        requirement(['Datastore.AllocateTemplate'], '/storage/local'),
        requirement(['Datastore.AllocateSpace'], '/storage/tank'),
      ],
      { version: PVE9 },
    );
    const strong = roles.find(({ privileges }) => privileges.includes('Datastore.Allocate'));
    expect(acl.filter(({ role }) => role === strong?.name).map(({ path }) => path)).toEqual(['/storage/local']);
  });

  it('use one entry on /vms if they should outlive the VMs, and separate entries for templates', () => {
    const { acl } = smallestRoles([...TEMPLATE, requirement(['VM.Allocate'], '/vms/401')], {
      version: PVE9,
      vms: 'all',
    });
    expect(acl).toEqual([
      { path: '/vms/9000', role: 'Proxwright-Template', propagate: false },
      { path: '/vms', role: 'Proxwright-VM', propagate: true },
    ]);
  });

  it('use the pool if there is one, and no entry for what propagates from above', () => {
    const { acl } = smallestRoles(
      [
        requirement(['VM.Allocate'], '/vms/401', '/pool/lab'),
        requirement(['Mapping.Use'], { path: '/mapping/pci', below: true }),
        requirement(['Mapping.Use'], '/mapping/pci/gpu'),
      ],
      { version: PVE9 },
    );
    expect(acl.map(({ path, propagate }) => [path, propagate])).toEqual([
      ['/pool/lab', false],
      ['/mapping/pci', true],
    ]);
  });
});

describe('commands for an administrator', () => {
  const roles = smallestRoles([requirement(['VM.Allocate'], { path: '/vms', below: true })], {
    version: PVE9,
    name: 'samsara_iac',
  });

  it('grant to the user and to its token', () => {
    expect(pveumCommands(roles, { principal: 'prov@pve!tok' })).toEqual([
      "pveum role add samsara_iac-VM --privs 'VM.Allocate'",
      "pveum acl modify /vms --users 'prov@pve' --tokens 'prov@pve!tok' --roles samsara_iac-VM --propagate 1",
    ]);
  });

  it('grant to the principal that needs it, and extend an existing role', () => {
    const [role] = pveumCommands(roles, { principal: 'prov@pve' }, new Set(['samsara_iac-VM']));
    expect(role).toBe("pveum role modify samsara_iac-VM --append 1 --privs 'VM.Allocate'");
    const holders = [
      pveumCommands(roles, { principal: 'prov@pve' }),
      pveumCommands(roles, { principal: 'prov@pve!tok', isSeparated: false }),
      pveumCommands(roles, { principal: 'root@pam!tok' }),
    ].map(([, acl = '']) => /--(users|tokens).*(?= --roles)/.exec(acl)?.[0]);
    expect(holders).toEqual(["--users 'prov@pve'", "--users 'prov@pve'", "--tokens 'root@pam!tok'"]);
  });
});

describe('the comparison with the privileges of a token', () => {
  it('lists what is missing and what is not needed, also on /', () => {
    const roles = smallestRoles([...TEMPLATE, requirement(['VM.Allocate'], { path: '/vms', below: true })], {
      version: PVE9,
    });
    const granted = grantsOf({
      '/': { 'Sys.Modify': true, 'VM.Audit': true },
      '/vms': { 'VM.Allocate': false },
      '/vms/9000': { 'VM.Clone': true, 'VM.Backup': true },
    });
    expect(compareWithGrants(roles, granted)).toEqual({
      missing: [
        { path: '/vms/9000', privileges: ['VM.Audit'] },
        { path: '/vms', privileges: ['VM.Allocate'] },
      ],
      tooMuch: [
        { path: '/', privileges: ['Sys.Modify', 'VM.Audit'] },
        { path: '/vms/9000', privileges: ['VM.Backup'] },
      ],
    });
  });
});
