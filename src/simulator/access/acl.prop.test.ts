/** Properties of the evaluation, on random lists of users, groups, tokens and pools. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { testRuntime } from '../testing/access.ts';
import type { AclEntry, World } from '../world/world.ts';
import { permissionsOn, privilegeTest, removeAclEntries, setAclEntry } from './acl.ts';

const PATHS = ['/', '/vms', '/vms/100', '/vms/101', '/pool', '/pool/p', '/storage', '/storage/local'];
const ROLES = ['Administrator', 'PVEVMUser', 'PVETemplateUser', 'PVEDatastoreUser', 'NoAccess'];
const MEMBERS = [
  { kind: 'user', ugid: 'u@pve' },
  { kind: 'group', ugid: 'g' },
  { kind: 'group', ugid: 'h' },
  { kind: 'token', ugid: 'u@pve!tok' },
] as const;

const entryArbitrary: fc.Arbitrary<AclEntry> = fc
  .record({
    path: fc.constantFrom(...PATHS),
    member: fc.constantFrom(...MEMBERS),
    role: fc.constantFrom(...ROLES),
    propagate: fc.boolean(),
  })
  .map(({ member, ...entry }) => ({ ...entry, ...member }));

const entriesArbitrary = fc.array(entryArbitrary, { maxLength: 12 });

function worldWith(entries: readonly AclEntry[], privsep: boolean): World {
  const { world } = testRuntime();
  const { access } = world;
  removeAclEntries(access, () => true);
  access.groups.set('g', { groupid: 'g', comment: undefined });
  access.groups.set('h', { groupid: 'h', comment: undefined });
  access.users.set('u@pve', {
    userid: 'u@pve',
    enable: true,
    expire: 0,
    details: new Map(),
    groups: new Set(['g', 'h']),
    password: undefined,
  });
  const token = { userid: 'u@pve', tokenid: 'tok', secret: '', privsep, expire: 0, comment: undefined };
  access.tokens.set('u@pve!tok', token);
  world.pools.set('p', { poolid: 'p', comment: undefined, vms: new Set([100]), storages: new Set(['local']) });
  for (const entry of entries) setAclEntry(access, { ...entry });
  return world;
}

describe('the access control list', () => {
  it('gives the quick test and the full answer the same meaning', () => {
    fc.assert(
      fc.property(entriesArbitrary, fc.boolean(), fc.constantFrom(...PATHS), (entries, privsep, path) => {
        const world = worldWith(entries, privsep);
        for (const authid of ['u@pve', 'u@pve!tok', 'root@pam', 'root@pam!test']) {
          const full = permissionsOn(world, authid, path);
          const holds = privilegeTest(world, authid, path);
          for (const privilege of world.access.roles.get('Administrator')?.privileges ?? []) {
            expect(holds(privilege)).toBe(full.has(privilege));
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it('never gives a token more than its user', () => {
    fc.assert(
      fc.property(entriesArbitrary, fc.boolean(), fc.constantFrom(...PATHS), (entries, privsep, path) => {
        const world = worldWith(entries, privsep);
        const owner = permissionsOn(world, 'u@pve', path);
        for (const privilege of permissionsOn(world, 'u@pve!tok', path).keys()) expect(owner.has(privilege)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('does not depend on the order of entries, and removing an entry undoes adding it', () => {
    const all = (world: World) =>
      PATHS.map((path) => Object.fromEntries([...permissionsOn(world, 'u@pve', path)].sort()));
    fc.assert(
      fc.property(fc.uniqueArray(entryArbitrary, { maxLength: 8, selector: keyOf }), (entries) => {
        expect(all(worldWith([...entries].reverse(), true))).toEqual(all(worldWith(entries, true)));
        const [last, ...rest] = entries;
        if (!last) return;
        const world = worldWith(entries, true);
        removeAclEntries(world.access, (entry) => keyOf(entry) === keyOf(last));
        expect(all(world)).toEqual(all(worldWith(rest, true)));
      }),
      { numRuns: 60 },
    );
  });
});

function keyOf({ path, kind, ugid, role }: AclEntry): string {
  return [path, kind, ugid, role].join(' ');
}
