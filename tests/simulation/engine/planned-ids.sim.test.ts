/** IDs of VMs to be made: the plan chooses, checks and shows them, and apply uses exactly these. */
import { describe, expect, it } from 'vitest';
import { parseToken } from '../../../src/pve/index.ts';
import { buildWorld } from '../../../src/simulator/index.ts';
import { failuresOf } from './support/invariants.ts';
import { LAB_WORLD } from './support/lab-world.ts';
import { type RunEnd, Scene } from './support/scene.ts';

const stack = (...groups: string[]) => `version: 1
stack: lab
defaults: { node: pve1, guest: plain, power: stopped, clone: { template: ubuntu-24.04, storage: local-lvm } }
vms:
${groups.map((group) => `  ${group}`).join('\n')}
`;
const RANGE = (range: string, count = 3) => `web: { count: ${count}, name: "web-\${number}", vmids: ${range} }`;

const idsOf = (end: RunEnd) => {
  if (end.kind !== 'ended') throw new Error(JSON.stringify(end));
  return end.plan.changes.map(({ vmid }) => vmid);
};

describe('a plan that makes VMs', () => {
  it('shows the IDs that apply then uses, beside an ID that a stranger has', async () => {
    const scene = new Scene();
    const text = stack(RANGE('402-405'));
    const ids = idsOf(await scene.plan(text));
    // 403 belongs to a stranger; member 2 gets an ID that no other member prefers.
    expect(ids).toEqual([402, 405, 404]);
    const end = await scene.apply(text);
    expect(failuresOf(end)).toEqual([]);
    expect(idsOf(end)).toEqual(ids);
    expect(Object.values((await scene.state()).vms).map(({ vmid }) => vmid)).toEqual(ids);
    expect(scene.requests.filter(({ target }) => target.includes('nextid'))).toEqual([]);
  });

  it('shows them for VMs that may have any ID, and leaves out those that the file gives to others', async () => {
    const scene = new Scene();
    const text = stack('a: { name: a }', 'b: { name: b, vmid: 101 }', 'c: { name: c }');
    const ids = idsOf(await scene.plan(text));
    expect(ids).toEqual([100, 101, 102]);
    expect(idsOf(await scene.apply(text))).toEqual(ids);
    expect([...scene.world.vms.keys()]).toEqual(expect.arrayContaining([100, 101, 102]));
  });

  it('is refused where the range has too few free IDs, before anything is made', async () => {
    const scene = new Scene();
    const end = await scene.apply(stack(RANGE('402-404')));
    expect(end).toMatchObject({
      kind: 'refused',
      problems: [{ code: 'VMID_TAKEN', where: { line: 5, address: 'vm.web[3]' } }],
    });
    if (end.kind === 'refused') expect(end.problems[0]?.detail).toContain('403 belongs to "others-403" on pve1');
    expect(scene.writes()).toEqual([]);
  });

  it('counts guests that the token does not see', async () => {
    const scene = blindScene();
    const OPEN = { checkPrivileges: false };
    expect(idsOf(await scene.plan(stack(RANGE('403-404', 1)), OPEN))).toEqual([404]);
    expect(await scene.plan(stack(RANGE('403-403', 1)), OPEN)).toMatchObject({
      kind: 'refused',
      problems: [{ code: 'VMID_TAKEN', detail: expect.stringContaining('a guest that the token may not see') }],
    });
  });

  it('keeps the ID of a VM that is replaced', async () => {
    const scene = new Scene();
    const text = stack('a: { name: a }');
    expect(idsOf(await scene.apply(text))).toEqual([100]);
    const end = await scene.apply(text, { replace: ['vm.a'] });
    expect(failuresOf(end)).toEqual([]);
    expect((await scene.state()).vms['vm.a']?.vmid).toBe(100);
  });
});

describe('an ID that another client takes after the plan', () => {
  it('is replaced by another one of the range, and that is reported', async () => {
    const scene = new Scene();
    let isTaken = false;
    scene.onRequest = (line) => {
      if (isTaken || !line.startsWith('POST') || !line.includes('/clone')) return;
      isTaken = true;
      const stranger = scene.world.vms.get(120);
      if (stranger) scene.world.vms.set(410, { ...structuredClone(stranger), vmid: 410 });
    };
    const end = await scene.apply(stack(RANGE('410-412', 1)));
    expect(idsOf(end)).toEqual([410]);
    expect(failuresOf(end)).toEqual([]);
    expect((await scene.state()).vms['vm.web[1]']?.vmid).toBe(411);
    expect(JSON.stringify(scene.events)).toContain(
      'gets the id 411: another guest has taken 410, which the plan had chosen',
    );
  });
});

/** A token that may do everything with templates and its own VMs, and sees no others. */
function blindScene(): Scene {
  const role = ['VM.Allocate', 'VM.Clone', 'VM.Config.Options', 'VM.Config.Disk', 'VM.PowerMgmt'];
  const secret = '00000000-0000-4000-8000-0000000000bb';
  const world = ({ now }: { readonly now: number }) =>
    buildWorld(
      {
        ...LAB_WORLD,
        users: { ...LAB_WORLD.users, 'blind@pve': { tokens: { maker: { secret, privsep: false } } } },
        roles: { ...LAB_WORLD.roles, Maker: role },
        acl: [
          ...(LAB_WORLD.acl ?? []),
          { path: '/vms', user: 'blind@pve', role: 'Maker', propagate: true },
          { path: '/vms/9000', user: 'blind@pve', role: 'PVEVMAdmin', propagate: true },
          { path: '/storage', user: 'blind@pve', role: 'PVEDatastoreAdmin', propagate: true },
          { path: '/sdn', user: 'blind@pve', role: 'PVESDNUser', propagate: true },
        ],
      },
      { now, file: 'blind' },
    );
  return new Scene({ world, credentials: parseToken(`blind@pve!maker=${secret}`) });
}

describe('an ID of the file that a guest has', () => {
  it('is answered with an import only where that guest could be imported', async () => {
    const hintOf = async (text: string) => {
      const end = await new Scene().plan(text);
      return end.kind === 'refused' ? end.problems.map(({ code, hint }) => [code, hint?.text]) : [end.kind];
    };
    expect(await hintOf(stack('a: { name: a, vmid: 120 }'))).toEqual([
      ['VMID_TAKEN', 'Choose another id, or import the VM: proxwright import vm.a 120.'],
    ]);
    const template = `version: 1\nstack: lab\ntemplates:\n  base: { node: pve1, vmid: 120, from: { vm: 403 } }\n`;
    expect(await hintOf(template)).toEqual([['VMID_TAKEN', 'Choose another id.']]);
    expect(await hintOf(stack('a: { name: a, vmid: 9000, clone: { template: talos } }'))).toEqual(
      expect.arrayContaining([['VMID_TAKEN', 'Choose another id.']]),
    );
  });

  it('is not answered with an import where another stack owns that guest, and names the stack', async () => {
    const scene = new Scene();
    const text = stack('a: { name: a, vmid: 407 }');
    await scene.apply(text.replace('stack: lab', 'stack: other'));
    await scene.store.remove('state.json');
    const end = await scene.plan(text);
    expect(end.kind === 'refused' && end.problems.map(({ code, detail, hint }) => [code, detail, hint?.text])).toEqual([
      [
        'VMID_TAKEN',
        'Id 407 belongs to "a" on pve1. Its notes say that it is vm.a of the stack "other".',
        'Choose another id.',
      ],
    ]);
  });
});
