/** A provider process is killed at every point: Terraform resumes with a fresh one, and nothing is lost, duplicated or left behind. */
import { describe, expect, it } from 'vitest';
import { configOf, nameOf, SHAPES, type Shape, shapesWorld } from '../simulation/inherited/support/shapes.ts';
import { byDepth } from '../support/depth.ts';
import { killEverywhere, problemsOf } from './support/kill-everywhere.ts';
import { type Config, type Instance, ToyHost } from './support/toy-host.ts';
import { type Snapshot, VmBench } from './support/vm-bench.ts';

const SECRETS = { GUEST_PASSWORD: 'correct horse battery staple' };

const WEB: Config = {
  name: 'web',
  node: 'pve1',
  guest: 'cloud-init',
  clone: { template: 'ubuntu-24.04' },
  cpu: { cores: 2 },
  memory: '2GiB',
  disks: { scsi0: { size: '10GiB' }, scsi1: { storage: 'local-lvm', size: '2GiB' } },
  nics: { net0: { bridge: 'vmbr0', ipv4: { address: 'dhcp' } } },
  cloud_init: { user: 'admin' },
  tags: ['web'],
};

/** A NIC is plugged in and a disk grows while the VM runs; memory needs a restart. */
const WEB_CHANGED: Config = {
  ...WEB,
  memory: '3GiB',
  restart: 'when_needed',
  disks: { scsi0: { size: '12GiB' }, scsi1: { storage: 'local-lvm', size: '2GiB' } },
  nics: { net0: { bridge: 'vmbr0', ipv4: { address: 'dhcp' } }, net1: { bridge: 'vmbr1', vlan: 20 } },
  tags: ['web', 'changed'],
};

/** Custom user-data in place of a cloud-init drive, beside everything else that a clone can bring along or be given. */
const INHERITED: readonly Shape[] = [
  { has: new Set(['drive', 'agent']), states: new Set(), cloudInit: 'user data' },
  ...Array.from({ length: byDepth(0, 6, SHAPES.length) }, (_, index) => SHAPES[(index * 213) % SHAPES.length] as Shape), // within the list
];

/** With a secret, whose digest is slow on purpose. */
const numbered = (config: Config, index: number): Config => ({
  ...config,
  name: `${config.name}-${index + 1}`,
  cloud_init: { user: 'admin', password: { env: 'GUEST_PASSWORD' } },
});
const five = (config: Config) => Array.from({ length: 5 }, (_, index) => numbered(config, index));

/** What stands when all of these have been made, and what the host remembers of them. */
async function made(configs: readonly Config[]): Promise<{ readonly from: Snapshot; readonly instances: Instance[] }> {
  const bench = new VmBench();
  Object.assign(bench.secrets, SECRETS);
  const { resource } = bench.process();
  const hosts = configs.map(() => new ToyHost(resource));
  const outcomes = await bench.run(() => Promise.all(hosts.map((host, index) => host.apply(configs[index] ?? null))));
  const problems = outcomes.flatMap(problemsOf);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  await bench.clock.advance(120_000);
  return { from: bench.snapshot(), instances: hosts.flatMap(({ instance }) => instance ?? []) };
}

describe('a provider that is killed', () => {
  it('is followed by one that completes a creation, wherever the kill was', async () => {
    const failures = await killEverywhere({
      name: 'create',
      resources: [{ config: WEB }],
      tasks: ['qmclone', 'resize', 'qmconfig', 'qmstart'],
      secrets: SECRETS,
    });
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('is followed by one that completes a cloned VM, whatever drives it inherits', async () => {
    const failures: string[] = [];
    for (const shape of INHERITED) {
      const name = `create from a ${nameOf(shape)}`;
      const operation = { name, world: shapesWorld, resources: [{ config: configOf(shape) }], tasks: ['qmclone'] };
      const found = await killEverywhere({ ...operation, secrets: SECRETS }, 7);
      failures.push(...found.map((each) => `${name}: ${each}`));
    }
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('is followed by one that completes an update, wherever the kill was', async () => {
    const { from, instances } = await made([WEB]);
    const failures = await killEverywhere({
      name: 'update',
      from,
      resources: [{ config: WEB_CHANGED, instance: instances[0] }],
      tasks: ['resize', 'qmshutdown', 'qmstart'],
      secrets: SECRETS,
    });
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('is followed by one that leaves nothing of a destroy, wherever the kill was', async () => {
    const { from, instances } = await made([WEB]);
    const failures = await killEverywhere({
      name: 'destroy',
      from,
      resources: [{ config: null, instance: instances[0] }],
      tasks: ['qmshutdown', 'qmdestroy'],
      secrets: SECRETS,
    });
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('is followed by one that completes all of five VMs', async () => {
    const failures = await killEverywhere(
      {
        name: 'create of five',
        resources: five(WEB).map((config) => ({ config })),
        tasks: ['qmclone', 'resize', 'qmconfig', 'qmstart'],
        secrets: SECRETS,
      },
      17,
    );
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('is followed by one that changes all of five VMs', async () => {
    const { from, instances } = await made(five(WEB));
    const failures = await killEverywhere(
      {
        name: 'update of five',
        from,
        resources: five(WEB_CHANGED).map((config, index) => ({ config, instance: instances[index] })),
        tasks: ['resize', 'qmshutdown', 'qmstart'],
        secrets: SECRETS,
      },
      17,
    );
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('is followed by one that destroys all of five VMs', async () => {
    const { from, instances } = await made(five(WEB));
    const failures = await killEverywhere(
      {
        name: 'destroy of five',
        from,
        resources: instances.map((instance) => ({ config: null, instance })),
        tasks: ['qmshutdown', 'qmdestroy'],
        secrets: SECRETS,
      },
      5,
    );
    expect(failures.slice(0, 20)).toEqual([]);
  });
});
