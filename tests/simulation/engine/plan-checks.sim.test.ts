/** What the file refers to and the cluster lacks is found by the plan, with the line, before anything is made. */
import { describe, expect, it } from 'vitest';
import { parseToken } from '../../../src/pve/index.ts';
import { worldOf } from '../pve8/support/worlds.ts';
import { codesOf } from './support/invariants.ts';
import { LAB_WORLD } from './support/lab-world.ts';
import { Scene } from './support/scene.ts';

const stack = (more: string) => `version: 1
stack: lab
vms:
  web:
    name: web
    node: pve1
    guest: plain
    clone: { template: ubuntu-24.04, storage: local-lvm }
    ${more}
`;

it.each([
  ['pool: labb', 'MISSING_REFERENCE', 'There is no pool "labb".'],
  ['cpu: { type: x86-64-v2-AEZ }', 'BAD_VALUE', 'There is no CPU model "x86-64-v2-AEZ"'],
  ['cpu: { type: custom-lab }', 'BAD_VALUE', 'There is no CPU model "custom-lab"'],
  ['cpu: { cores: 64, sockets: 4 }', 'BAD_VALUE', 'vm.web has 256 cores, but pve1 has only'],
])('refuses %s at its line', async (more, code, detail) => {
  const scene = new Scene();
  const end = await scene.apply(stack(more));
  expect(end).toMatchObject({
    kind: 'refused',
    problems: [{ code, where: { line: 9 }, detail: expect.stringContaining(detail) }],
  });
  expect(scene.writes()).toEqual([]);
});

it('accepts a pool that exists, and many cores in a VM that stays off', async () => {
  expect(await new Scene().plan(stack('pool: lab'))).toMatchObject({ kind: 'ended' });
  expect(
    await new Scene().plan(
      stack('{ power: stopped, cpu: { cores: 64 } }').replace(
        '{ power: stopped, cpu: { cores: 64 } }',
        'power: stopped\n    cpu: { cores: 64 }',
      ),
    ),
  ).toMatchObject({ kind: 'ended' });
});

it('suggests the CPU model that was probably meant', async () => {
  expect(await new Scene().plan(stack('cpu: { type: x86-64-v2-aess }'))).toMatchObject({
    kind: 'refused',
    problems: [{ hint: { text: expect.stringContaining('Did you mean "x86-64-v2-AES"?') } }],
  });
});

it('refuses an unknown CPU model for a VM that exists', async () => {
  const scene = new Scene();
  await scene.apply(stack('cpu: { type: host }'));
  expect(await scene.apply(stack('cpu: { type: hosts }'))).toMatchObject({
    kind: 'refused',
    problems: [{ where: { line: 9 }, detail: expect.stringContaining('There is no CPU model "hosts"') }],
  });
  expect(scene.writes()).toEqual([]);
});

describe('a vmdk file, which Proxmox cannot grow', () => {
  const local = LAB_WORLD.storages?.local;
  const volume = { name: '9500/base-9500-disk-0.vmdk', node: 'pve1', size: '1G', used: '1M', data: '1M' };
  const config = {
    name: 'appliance',
    template: 1,
    scsi0: 'local:9500/base-9500-disk-0.vmdk,size=1G',
    boot: 'order=scsi0',
  };
  const world = worldOf('9.2', {
    ...LAB_WORLD,
    storages: {
      ...LAB_WORLD.storages,
      local: { ...local, content: [...(local?.content ?? []), 'images'], volumes: [...(local?.volumes ?? []), volume] },
    },
    vms: { ...LAB_WORLD.vms, 9500: { node: 'pve1', config } },
  });

  it('is refused at its line, and converted before it grows where the file says so', async () => {
    const scene = new Scene({ world });
    const disk = (more: string) => stack(`disks: { scsi1: { storage: local, ${more} } }`);
    await scene.apply(disk('format: vmdk, size: 1GiB'));
    expect(await scene.apply(disk('format: vmdk, size: 2GiB'))).toMatchObject({
      kind: 'refused',
      problems: [
        {
          code: 'BAD_VALUE',
          where: { line: 9 },
          detail: expect.stringContaining('vmdk file, which Proxmox cannot grow'),
        },
      ],
    });
    expect(scene.writes()).toEqual([]);
    expect(codesOf(await scene.apply(disk('format: qcow2, size: 2GiB')))).toEqual([]);
    expect(await scene.plan(disk('format: qcow2, size: 2GiB'))).toMatchObject({ kind: 'ended', plan: { steps: [] } });
  });

  it('is refused in a template too, unless the clone gets another format', async () => {
    const scene = new Scene({ world });
    const cloned = (more: string) =>
      stack('disks: { scsi0: { size: 2GiB } }').replace('ubuntu-24.04, storage: local-lvm', `appliance, ${more}`);
    expect(await scene.plan(cloned('mode: full'))).toMatchObject({
      kind: 'refused',
      problems: [{ where: { line: 9 }, detail: expect.stringContaining('vmdk file, which Proxmox cannot grow') }],
    });
    expect(await scene.plan(cloned('mode: full, storage: local-lvm'))).toMatchObject({ kind: 'ended' });
    expect(await scene.plan(cloned('mode: linked'))).toMatchObject({ kind: 'ended' });
    expect(codesOf(await scene.apply(cloned('mode: full, format: qcow2, storage: local')))).toEqual([]);
  });
});

it('asks for the list of CPU models only where a VM gets one', async () => {
  const scene = new Scene();
  const asked = () => scene.requests.filter(({ target }) => target.includes('/capabilities/')).length;
  await scene.apply(stack('cpu: { type: host }'));
  expect(asked()).toBe(1);
  await scene.apply(stack('cpu: { type: host }'));
  expect(asked()).toBe(0);
});

/** The token of the demo without one privilege, on a server of any release. */
function sceneWithout(privilege: string, release = '9.2'): Scene {
  const { Deploy = [] } = LAB_WORLD.roles ?? {};
  const roles = { ...LAB_WORLD.roles, Deploy: Deploy.filter((each) => each !== privilege) };
  const { secret } = LAB_WORLD.users?.['deploy@pve']?.tokens?.ci ?? {};
  return new Scene({
    world: worldOf(release, { ...LAB_WORLD, roles }),
    credentials: parseToken(`deploy@pve!ci=${secret}`),
  });
}

async function warningsOf(scene: Scene, more: string): Promise<string[]> {
  const end = await scene.plan(stack(more), { checkPrivileges: false });
  if (end.kind !== 'ended') throw new Error(JSON.stringify(end));
  return end.plan.warnings.map(({ detail, where }) => `${where?.line}: ${detail}`);
}

it('says that a custom CPU model was not checked where the token sees none', async () => {
  expect(await warningsOf(sceneWithout('Sys.Audit'), 'cpu: { type: custom-lab }')).toContain(
    '9: Whether CPU model "custom-lab" exists could not be checked: the token needs Sys.Audit on /nodes.',
  );
});

it('says that a pool was not checked where the token may not read it', async () => {
  const scene = sceneWithout('Pool.Audit', '8.0');
  expect(await warningsOf(scene, 'pool: lab')).toContain(
    '9: Whether pool "lab" exists could not be checked: the token needs Pool.Audit on /pool/lab.',
  );
});

it('finds a missing pool on Proxmox VE 8.0, which takes its name in the path only', async () => {
  const scene = sceneWithout('', '8.0');
  expect(await warningsOf(scene, 'pool: lab')).toEqual([]);
  expect(await scene.plan(stack('pool: labb'), { checkPrivileges: false })).toMatchObject({ kind: 'refused' });
});
