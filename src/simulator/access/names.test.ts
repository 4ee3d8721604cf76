import { describe, expect, it } from 'vitest';
import { isAclPath, levelsOf, normalizePath } from './names.ts';

describe('paths of the access control list', () => {
  it.each([
    ['vms', '/vms'],
    ['/vms/', '/vms'],
    ['//vms//100', '/vms/100'],
    ['/', '/'],
  ])('reads %s as %s', (given, normal) => {
    expect(normalizePath(given)).toBe(normal);
  });

  it.each([undefined, '', '/pool/bad name', '/vms/ü'])('rejects the path %s', (given) => {
    expect(normalizePath(given)).toBeUndefined();
  });

  it.each([
    '/',
    '/access/groups/ops',
    '/nodes/pve1',
    '/pool/a/b/c',
    '/sdn/zones/localnetwork/vmbr0/50',
    '/storage/local',
    '/vms/100',
    '/mapping/pci/gpu',
  ])('accepts entries on %s', (path) => {
    expect(isAclPath(path)).toBe(true);
  });

  it.each(['/nosuch', '/vms/99', '/vms/abc', '/pool/a/b/c/d', '/sdn/zones/z/v/0', '/access/acl'])(
    'rejects entries on %s',
    (path) => {
      expect(isAclPath(path)).toBe(false);
    },
  );

  it('walks from the root, unless the leading slash is missing', () => {
    expect(levelsOf('/')).toEqual(['']);
    expect(levelsOf('/vms/100')).toEqual(['', 'vms', '100']);
    expect(levelsOf('/vms/')).toEqual(['', 'vms']);
    expect(levelsOf('vms')).toEqual(['vms']);
  });
});
