/** Roles computed from the file: enough for the whole lifecycle, and nothing that the server does not know. */
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../../src/base/diagnostics.ts';
import { assumedNeeds } from '../../../src/engine/privileges/assumed.ts';
import { pveumCommands } from '../../../src/engine/privileges/pveum.ts';
import { type RoleSet, smallestRoles } from '../../../src/engine/privileges/roles.ts';
import { privilegesOf } from '../../../src/pve/compatibility.ts';
import { resolved } from '../engine/support/scene.ts';
import { firstPicture, type PhaseEnd, PRINCIPAL, runPhase } from '../privileges/support/bench.ts';
import { SERVERS } from '../privileges/support/scenarios.ts';
import { obey, STACK } from './support/clinic.ts';

/** Without a server: what is known is the file and a release. */
function rolesFor(stackText: string, version: string): { roles: RoleSet; notes: readonly string[] } {
  const found = assumedNeeds({ stack: resolved(stackText), version: { version }, now: 0, lifecycle: true });
  if (!found.ok) throw new Error(found.problems.map(formatDiagnostic).join('\n'));
  return {
    roles: smallestRoles(found.needs.requirements, { version: { version }, vms: 'all' }),
    notes: found.guesses,
  };
}

const texts = (end: PhaseEnd) => end.problems.map(formatDiagnostic);
const CHANGED = STACK()
  .replace('cores: 2', 'cores: 3')
  .replace('memory: 2GiB', 'memory: 3GiB\n    restart: when_needed')
  .replace('size: 8GiB', 'size: 9GiB')
  .replace('10.0.30.11', '10.0.30.12');

describe.each(SERVERS)('on $name', ({ world }) => {
  const version = typeof world.version === 'string' ? world.version : '9.2';

  it.each([
    ['a template by its name', STACK()],
    [
      'a template by its id, and a storage',
      STACK().replace('template: ubuntu-24.04', 'template: 9000, storage: local-lvm'),
    ],
  ])('makes roles from the file alone, with %s, that are enough to create, change and destroy', async (_, stack) => {
    const { roles } = rolesFor(stack, version);
    const first = firstPicture(world);
    const granted = obey(first.world, pveumCommands(roles, { principal: PRINCIPAL }).join('\n'));
    const made = await runPhase({ ...first, world: granted }, { kind: 'apply', stack }, { grants: [] });
    expect(texts(made)).toEqual([]);
    expect(made.outcome).toBe('done');
    const changed = CHANGED.replace('template: ubuntu-24.04', /template: [^}]+/.exec(stack)?.[0].trim() ?? '');
    const updated = await runPhase(made.after, { kind: 'apply', stack: changed }, { grants: [] });
    expect(texts(updated)).toEqual([]);
    expect(updated.outcome).toBe('done');
    expect(updated.writes.length).toBeGreaterThan(0);
    const destroyed = await runPhase(updated.after, { kind: 'destroy', stack: changed }, { grants: [] });
    expect(destroyed.outcome).toBe('done');
  });

  it('names no privilege in a role that the release does not know', () => {
    const known = privilegesOf({ version });
    const named = rolesFor(`${STACK()}    ready: { exec: [["true"]] }\n    startup: { order: 1 }\n`, version);
    const privileges = named.roles.roles.flatMap((role) => role.privileges);
    expect(privileges.filter((privilege) => !known.has(privilege))).toEqual([]);
    expect(privileges).toContain(version.startsWith('8') ? 'VM.Monitor' : 'VM.GuestAgent.Unrestricted');
  });
});

describe('what is not known of a template', () => {
  it('is allowed everywhere, and said', () => {
    const { roles, notes } = rolesFor(STACK(), '9.2');
    expect(roles.acl.map(({ path }) => path)).toEqual(['/vms', '/storage', '/sdn/zones/localnetwork']);
    expect(notes).toEqual([expect.stringContaining('Template ubuntu-24.04 could not be read')]);
  });

  it('is not asked for of a VM that is made from an image', () => {
    const stack = STACK()
      .replace(/ {4}clone.*\n/, '')
      .replace(', ipv4: { address: 10.0.30.11/24 }', '')
      .replace('size: 8GiB', 'storage: nfs, import_from: "local:import/a.qcow2"');
    const { roles, notes } = rolesFor(stack, '9.2');
    expect(roles.acl.map(({ path }) => path).sort()).toEqual([
      '/sdn/zones/localnetwork/vmbr0',
      '/storage/local',
      '/storage/nfs',
      '/vms',
    ]);
    expect(notes).toEqual([]);
  });
});
