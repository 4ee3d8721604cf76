/** Roles computed from the file alone, for a host on which nothing of it exists: enough for a whole life from there. */
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../../src/base/diagnostics.ts';
import { assumedNeeds } from '../../../src/engine/privileges/assumed.ts';
import { pveumCommands } from '../../../src/engine/privileges/pveum.ts';
import { smallestRoles } from '../../../src/engine/privileges/roles.ts';
import { BARE_WORLD } from '../../../src/simulator/world/bare-world.ts';
import { obey } from '../doctor/support/clinic.ts';
import { resolved } from '../engine/support/scene.ts';
import { firstPicture, type PhaseEnd, PRINCIPAL, runPhase } from '../privileges/support/bench.ts';
import { sentStack } from './support/sent-image.ts';
import { cloudStack, talosStack } from './support/stacks.ts';

const texts = (end: PhaseEnd) => end.problems.map(formatDiagnostic);

function rolesFor(text: string, version: string) {
  const found = assumedNeeds({ stack: resolved(text), version: { version }, now: 0, lifecycle: true });
  if (!found.ok) throw new Error(found.problems.map(formatDiagnostic).join('\n'));
  return {
    roles: smallestRoles(found.needs.requirements, { version: { version }, vms: 'all' }),
    notes: found.guesses,
  };
}

const LIVES = [
  { name: 'an image that is fetched', text: cloudStack(), changed: cloudStack({ cores: 4 }) },
  { name: 'an image that is sent', text: sentStack(), changed: sentStack({ cores: 4 }) },
  {
    name: 'an installation, and custom cloud-init files',
    text: talosStack(),
    changed: talosStack({ userData: 'machine: { type: controlplane } # let nobody read this' }),
  },
];

describe.each(['9.2', '8.4'])('on Proxmox VE %s', (version) => {
  it.each(LIVES)('makes roles for $name that are enough to create, change and destroy', async ({ text, changed }) => {
    const { roles, notes } = rolesFor(text, version);
    expect(notes).toEqual([]);
    const first = firstPicture({ ...BARE_WORLD, version });
    const granted = obey(first.world, pveumCommands(roles, { principal: PRINCIPAL }).join('\n'));
    const made = await runPhase({ ...first, world: granted }, { kind: 'apply', stack: text }, { grants: [] });
    expect(texts(made)).toEqual([]);
    expect(made.outcome).toBe('done');
    const updated = await runPhase(made.after, { kind: 'apply', stack: changed }, { grants: [] });
    expect(texts(updated)).toEqual([]);
    expect(updated.outcome).toBe('done');
    const destroyed = await runPhase(updated.after, { kind: 'destroy', stack: changed }, { grants: [] });
    expect(texts(destroyed)).toEqual([]);
    expect(destroyed.outcome).toBe('done');
  });
});

it('asks for the privileges of an image on its own storage and node, and no others', () => {
  const acl = rolesFor(cloudStack({ vms: '  web: { name: web, vmid: 101 }' }), '9.2').roles.acl.map(({ path }) => path);
  expect(acl).toEqual(expect.arrayContaining(['/storage/local', '/storage/tank', '/nodes/vmhost']));
  expect(acl).not.toContain('/storage');
});
