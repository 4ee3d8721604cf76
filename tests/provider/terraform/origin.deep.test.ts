/** The five failures this project began with, in Terraform, where they happened. */
import { afterEach, describe, expect, it } from 'vitest';
import { buildWorld, type FaultRuleInput } from '../../../src/simulator/index.ts';
import { LAB_WORLD } from '../../simulation/engine/support/lab-world.ts';
import { vm } from './support/hcl.ts';
import { HOSTS } from './support/hosts.ts';
import { problems, Scene } from './support/scene.ts';

const WEB = { name: 'web', node: 'pve1', vmid: 401, clone: { template: 'ubuntu-24.04' } };

/** 1,400 MB at 100 MB a second: a clone takes 14 s. */
function slowWorld({ now }: { readonly now: number }) {
  const { storages = {} } = LAB_WORLD;
  const slow = { ...storages['local-lvm'], bandwidth: '100M' };
  return buildWorld({ ...LAB_WORLD, storages: { ...storages, 'local-lvm': slow } }, { now, file: 'slow' });
}

let scene: Scene;
afterEach(() => scene.close());

describe.each(HOSTS)('under $name $version', (host) => {
  async function applied(attributes: object, faults: readonly FaultRuleInput[] = []) {
    scene = await Scene.open({ host, world: slowWorld, faults });
    await scene.write(vm('web', { ...WEB, ...attributes }));
    expect(problems(await scene.apply())).toEqual([]);
    expect((await scene.plan()).code).toBe(0);
    return scene.configOf('web');
  }

  it('keeps the disk of a clone without a disk block, and the clone boots', async () => {
    const config = await applied({ memory: '8GiB' });
    expect(config.get('scsi0')).toContain('vm-401-disk-0');
    expect(scene.world.vms.get(401)?.process?.guest).toBeDefined();
  });

  it('accepts a boot order with a NIC that only the template has, and refuses one with a NIC that is removed', async () => {
    const config = await applied({ boot: ['scsi0', 'net0'] });
    expect(config.get('boot')).toBe('order=scsi0;net0');
    expect(config.get('net0')).toContain('bridge=vmbr0');
    await scene.write(vm('web', { ...WEB, boot: ['scsi0', 'net0'], nics: { net0: { remove: true } } }));
    expect(problems(await scene.plan()).join()).toMatch(/boot.*net0|net0.*boot/);
  });

  it('takes the id of a NIC from its key, and refuses another key before anything happens', async () => {
    const config = await applied({ nics: { net1: { bridge: 'vmbr1' } } });
    expect(config.get('net1')).toContain('bridge=vmbr1');
    await scene.write(vm('web', { ...WEB, nics: { net: { bridge: 'vmbr1' } } }));
    expect(problems(await scene.plan())).toEqual([expect.stringMatching(/^error 14 .*net/)]);
  });

  it('delays the configuration at a lock after the clone, and does not lose it', async () => {
    const config = await applied({ memory: '8GiB', cpu: { cores: 4 } }, [
      { kind: 'lock', match: { path: 'config' }, at: 1, for_ms: 15_000 },
    ]);
    expect(scene.faults.strikes).toHaveLength(1);
    expect([config.get('memory'), config.get('cores')]).toEqual(['8192', '4']);
    const launched = scene.world.vms.get(401)?.process?.launched;
    expect([launched?.get('memory'), launched?.get('cores')]).toEqual(['8192', '4']);
  });

  it('ends a clone of 14 s when its task ends', async () => {
    await applied({ memory: '8GiB', timeouts: { clone: '2m' } });
    const [task] = [...scene.world.tasks.values()].filter(({ type }) => type === 'qmclone');
    expect(((task?.endedAt ?? 0) - (task?.startedAt ?? 0)) / 1000).toBeGreaterThan(10);
  });
});
