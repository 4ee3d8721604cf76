/** VMs under the HA manager: added once they are complete, compared, changed and removed. */
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../../src/base/diagnostics.ts';
import { parseToken } from '../../../src/pve/index.ts';
import { buildWorld } from '../../../src/simulator/index.ts';
import { failuresOf } from './support/invariants.ts';
import { LAB_WORLD } from './support/lab-world.ts';
import { type RunEnd, Scene, type SceneOptions } from './support/scene.ts';

const stack = (more: string) => `
version: 1
stack: lab
vms:
  web: { name: web, vmid: 401, node: pve1, clone: { template: ubuntu-24.04 }, ${more} }
`;
const MANAGED = stack('ha: { max_restart: 3, comment: "kept alive" }');

const resource = (scene: Scene) => Object.fromEntries(scene.world.ha.resources.get('vm:401') ?? []);
const differences = (end: RunEnd) =>
  end.kind === 'ended'
    ? end.plan.changes.flatMap((change) =>
        change.differences.map(({ path, by, before, after }) => [path, by, before, after]),
      )
    : end;
const haRequests = (scene: Scene) => scene.writes().filter((line) => line.includes('/cluster/ha/'));

async function managed(options: SceneOptions = {}): Promise<Scene> {
  const scene = new Scene(options);
  expect(failuresOf(await scene.apply(MANAGED))).toEqual([]);
  return scene;
}

describe('ha', () => {
  it('makes a VM a resource once it runs; the second plan is empty and writes nothing', async () => {
    const scene = new Scene();
    const end = await scene.apply(MANAGED);
    expect(failuresOf(end)).toEqual([]);
    if (end.kind !== 'ended') throw new Error('not applied');
    expect(end.plan.steps.map(({ id }) => id).slice(-3)).toEqual(['vm.web/start', 'vm.web/ha', 'vm.web/ready']);
    expect(resource(scene)).toEqual({ state: 'started', max_restart: '3', comment: 'kept alive' });
    await scene.clock.advance(60_000);
    expect(scene.world.ha.services.get('vm:401')?.state).toBe('started');
    expect(scene.world.vms.get(401)?.process).toBeDefined();
    expect(await scene.apply(MANAGED)).toMatchObject({ plan: { steps: [] } });
    expect(haRequests(scene)).toEqual([]);
  });

  it('shows what another client changed, and changes only that', async () => {
    const scene = await managed();
    const options = scene.world.ha.resources.get('vm:401');
    options?.set('max_restart', '9');
    options?.set('max_relocate', '5');
    expect(differences(await scene.plan(MANAGED))).toEqual([['ha.max_restart', 'others', 9, 3]]);
    expect(failuresOf(await scene.apply(MANAGED))).toEqual([]);
    expect(resource(scene)).toEqual({ state: 'started', max_restart: '3', max_relocate: '5', comment: 'kept alive' });
  });

  it('creates a resource again that another client removed', async () => {
    const scene = await managed();
    scene.world.ha.resources.delete('vm:401');
    expect(differences(await scene.plan(MANAGED))).toEqual([
      ['ha.state', 'others', null, 'started'],
      ['ha.max_restart', 'others', null, 3],
      ['ha.comment', 'others', null, 'kept alive'],
    ]);
    expect(failuresOf(await scene.apply(MANAGED))).toEqual([]);
    expect(resource(scene)).toMatchObject({ max_restart: '3' });
    expect(await scene.plan(MANAGED)).toMatchObject({ plan: { steps: [] } });
  });

  it('is left alone when the file no longer mentions it, and removed when the file says false', async () => {
    const scene = await managed();
    const silent = await scene.apply(stack(''));
    expect(silent).toMatchObject({ plan: { changes: [{ unmanaged: ['ha.comment', 'ha.max_restart', 'ha.state'] }] } });
    expect(resource(scene)).toMatchObject({ state: 'started' });
    expect(differences(await scene.plan(stack('ha: false')))).toEqual([['ha', 'file', { state: 'started' }, false]]);
    expect(failuresOf(await scene.apply(stack('ha: false')))).toEqual([]);
    expect(resource(scene)).toEqual({});
    expect(await scene.plan(stack('ha: false'))).toMatchObject({ plan: { steps: [] } });
    scene.world.ha.resources.set('vm:401', new Map());
    expect(differences(await scene.plan(stack('ha: false')))).toEqual([['ha', 'others', { state: 'started' }, false]]);
  });

  it('forgets a single field that left the file', async () => {
    const scene = await managed();
    const less = stack('ha: { comment: "kept alive" }');
    expect(await scene.apply(less)).toMatchObject({ plan: { changes: [{ unmanaged: ['ha.max_restart'] }] } });
    expect(await scene.plan(less)).toMatchObject({ plan: { steps: [] } });
    expect((await scene.state()).vms['vm.web']?.lastApplied).not.toHaveProperty(['ha.max_restart']);
  });

  it('records values that are already as desired without writing', async () => {
    const scene = new Scene();
    await scene.apply(stack(''));
    scene.world.ha.resources.set('vm:401', new Map([['state', 'enabled']]));
    const end = await scene.apply(stack('ha: { max_restart: 1 }'));
    expect(failuresOf(end)).toEqual([]);
    expect(end).toMatchObject({
      plan: { changes: [{ differences: [], kind: 'update' }], steps: [{ id: 'vm.web/ha' }] },
    });
    expect(haRequests(scene)).toEqual([]);
    expect(await scene.plan(stack('ha: { max_restart: 1 }'))).toMatchObject({ plan: { steps: [] } });
  });

  it('follows a change of power in both directions', async () => {
    const scene = await managed();
    const off = stack('power: stopped, ha: { state: stopped, max_restart: 3, comment: "kept alive" }');
    expect(failuresOf(await scene.apply(off))).toEqual([]);
    await scene.clock.advance(60_000);
    expect(scene.world.vms.get(401)?.process).toBeUndefined();
    expect(resource(scene)).toMatchObject({ state: 'stopped' });
    expect(await scene.plan(off)).toMatchObject({ plan: { steps: [] } });
    expect(failuresOf(await scene.apply(MANAGED))).toEqual([]);
    await scene.clock.advance(60_000);
    expect(scene.world.vms.get(401)?.process).toBeDefined();
    expect(await scene.plan(MANAGED)).toMatchObject({ plan: { steps: [] } });
  });

  it('is given up before the VM is stopped and destroyed', async () => {
    const scene = await managed();
    await scene.clock.advance(60_000);
    expect(failuresOf(await scene.destroy(MANAGED))).toEqual([]);
    expect(scene.world.vms.has(401)).toBe(false);
    expect(scene.world.ha.resources.size).toBe(0);
    expect(haRequests(scene)).toEqual(['DELETE /cluster/ha/resources/vm:401']);
    expect(scene.tasks('hastop')).toEqual([]);
  });

  it('costs one read of resources and one of rules for a whole stack, and none if no VM mentions it', async () => {
    const reads = (scene: Scene) =>
      scene.requests.filter(({ method, target }) => method === 'GET' && target.includes('/cluster/ha/'));
    const scene = new Scene();
    await scene.apply(stack(''));
    expect(reads(scene)).toEqual([]);
    await scene.plan(MANAGED);
    expect(reads(scene)).toHaveLength(2);
  });

  it('has no groups on Proxmox VE 9', async () => {
    const end = await new Scene().plan(stack('ha: { group: fast }'));
    if (end.kind !== 'refused') throw new Error('not refused');
    expect(end.problems.map(formatDiagnostic).join('\n')).toContain('has no HA groups: rules replaced them');
  });
});

describe('without the privileges for it', () => {
  it('says that it was not checked, and what it needs, and apply is refused', async () => {
    const { Deploy = [] } = LAB_WORLD.roles ?? {};
    const roles = { ...LAB_WORLD.roles, Deploy: Deploy.filter((privilege) => privilege !== 'Sys.Audit') };
    const { secret } = LAB_WORLD.users?.['deploy@pve']?.tokens?.ci ?? {};
    const scene = new Scene({
      world: ({ now }) => buildWorld({ ...LAB_WORLD, roles }, { now, file: 'few' }),
      credentials: parseToken(`deploy@pve!ci=${secret}`),
    });
    const end = await scene.plan(MANAGED, { checkPrivileges: false });
    if (end.kind !== 'ended') throw new Error(JSON.stringify(end));
    expect(end.plan.warnings.map(({ detail }) => detail)).toContain(
      'High availability could not be checked: the token needs Sys.Audit on /.',
    );
    expect(failuresOf(await scene.apply(MANAGED)).join()).toMatch(/Sys\.Console/);
    expect(scene.world.ha.resources.size).toBe(0);
  });
});
