/** Where an older server behaves differently, and what the engine makes of it. */
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../../src/base/diagnostics.ts';
import type { FaultRuleInput } from '../../../src/simulator/index.ts';
import { beforehand, complaintsAfterDestroy, failuresOf } from '../engine/support/invariants.ts';
import { Scene } from '../engine/support/scene.ts';
import { exactGrants, firstPicture, runPhase } from '../privileges/support/bench.ts';
import { worldFileOf, worldOf } from './support/worlds.ts';

const stack = (more: string) => `
version: 1
stack: lab
vms:
  web: { name: web, vmid: 401, node: pve1, clone: { template: ubuntu-24.04 }, ${more} }
`;

describe('the lock of a configuration', () => {
  const otherClient: FaultRuleInput = { kind: 'lock', match: { path: 'config' }, at: 1, for_ms: 15_000 };

  it.each(['8.0', '8.4'])('is waited for if it is held while %s answers', async (version) => {
    const scene = new Scene({ world: worldOf(version), faults: [otherClient] });
    expect(failuresOf(await scene.apply(stack('memory: 8GiB, cpu: { cores: 4 }')))).toEqual([]);
    expect(scene.faults.strikes).toHaveLength(1);
    expect(scene.logs.join('\n')).toContain('busy, trying again');
    expect(scene.world.vms.get(401)?.process?.launched.get('memory')).toBe('8192');
  });
});

describe('HA groups', () => {
  const GROUPED = stack('ha: { group: near, max_restart: 2 }');

  it('hold a VM on 8, whose next plan is empty and whose end leaves nothing', async () => {
    const scene = new Scene({ world: worldOf('8.4') });
    const expectations = beforehand(scene);
    scene.world.ha.groups.set('near', new Map([['nodes', 'pve1']]));
    expect(failuresOf(await scene.apply(GROUPED))).toEqual([]);
    expect(Object.fromEntries(scene.world.ha.resources.get('vm:401') ?? [])).toEqual({
      group: 'near',
      max_restart: '2',
      state: 'started',
    });
    expect(await scene.apply(GROUPED)).toMatchObject({ plan: { steps: [] } });
    expect(await complaintsAfterDestroy(scene, GROUPED, expectations)).toEqual([]);
    expect(scene.world.ha.resources.size).toBe(0);
  });

  it('are changed, and the server is believed when there is no such group', async () => {
    const scene = new Scene({ world: worldOf('8.4') });
    scene.world.ha.groups.set('near', new Map([['nodes', 'pve1']]));
    await scene.apply(GROUPED);
    const end = await scene.apply(GROUPED.replace('near', 'far'));
    expect(failuresOf(end).join('\n')).toContain("HA group 'far' does not exist");
  });

  it('are refused on 9 before anything is made', async () => {
    const scene = new Scene({ world: worldOf('9.0') });
    const end = await scene.apply(GROUPED);
    expect(failuresOf(end).join('\n')).toContain('has no HA groups');
    expect(scene.writes()).toEqual([]);
  });
});

describe.each(['8.0', '8.4'])('a token on %s', (version) => {
  const phase = {
    kind: 'apply',
    stack: stack('agent: { enabled: true }, guest: cloud-init, ready: { agent: true }'),
  } as const;

  it('sees the name of that release, and the command, if it lacks the privilege for the guest agent', async () => {
    const from = firstPicture(worldFileOf(version));
    const plan = await runPhase(from, phase, { execute: false });
    const grants = exactGrants(plan.check?.requirements ?? []);
    expect(grants.map(({ privilege }) => privilege)).toContain('VM.Monitor');
    const end = await runPhase(from, phase, { grants: grants.filter(({ privilege }) => privilege !== 'VM.Monitor') });
    const said = end.problems.map(formatDiagnostic).join('\n');
    expect(end.writes).toEqual([]);
    expect(said).toContain('VM.Monitor on /vms/401');
    expect(said).toMatch(/pveum role add \S+ --privs '.*VM\.Monitor/);
    expect(said).not.toContain('VM.GuestAgent');
  });
});
