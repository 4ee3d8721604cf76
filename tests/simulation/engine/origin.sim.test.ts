/**
 * The five failures this project began with. Each is first shown to happen to a naive client on the same simulated cluster,
 * then to be impossible with the engine.
 */
import { describe, expect, it } from 'vitest';
import type { Instant } from '../../../src/base/clock.ts';
import { ProxwrightError } from '../../../src/base/errors.ts';
import { createPve, type Pve, parseToken } from '../../../src/pve/index.ts';
import { buildWorld, type FaultRuleInput, seededRandom, type World } from '../../../src/simulator/index.ts';
import { failuresOf } from './support/invariants.ts';
import { LAB_WORLD } from './support/lab-world.ts';
import { resolved, Scene, TOKEN_SECRET } from './support/scene.ts';

const TEMPLATE = 9000;
const VMID = 401;

/** 1,400 MB at 100 MB a second: a clone takes 14 s. */
function slowWorld({ now }: { readonly now: Instant }): World {
  const { storages = {} } = LAB_WORLD;
  const slow = { ...storages['local-lvm'], bandwidth: '100M' };
  return buildWorld({ ...LAB_WORLD, storages: { ...storages, 'local-lvm': slow } }, { now, file: 'slow' });
}

function stack(fields: string): string {
  return `
version: 1
stack: lab
vms:
  web: { name: web, node: pve1, vmid: ${VMID}, clone: { template: ubuntu-24.04 }, ${fields} }
`;
}

/** A client of the scene's cluster without the engine. */
async function naively(scene: Scene, work: (pve: Pve) => Promise<void>): Promise<void> {
  const pve = createPve({
    transport: scene.simulator.transport(),
    credentials: parseToken(`root@pam!admin=${TOKEN_SECRET}`),
    clock: scene.clock,
    random: seededRandom('naive'),
  });
  await scene.clock.run(() => work(pve));
}

async function cloned(pve: Pve): Promise<void> {
  await pve.tasks.wait(await pve.node('pve1').vm(TEMPLATE).clone({ newid: VMID, name: 'web', full: true }));
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'it worked',
    (error: unknown) => (error instanceof ProxwrightError ? error.diagnostic.detail : String(error)),
  );
}

const config = (scene: Scene, key: string) => scene.world.vms.get(VMID)?.config.current.get(key);
const scene = (faults: readonly FaultRuleInput[] = []) => new Scene({ world: slowWorld, faults });

describe('the clone that loses its disk', () => {
  it('happens to a client that removes what its file does not mention', async () => {
    const lab = scene();
    await naively(lab, async (pve) => {
      await cloned(pve);
      await pve.node('pve1').vm(VMID).config.put({ memory: 8192, delete: 'scsi0' });
      await pve.tasks.wait(await pve.node('pve1').vm(VMID).status.start());
    });
    expect(config(lab, 'scsi0')).toBeUndefined();
    expect(config(lab, 'unused0')).toContain(`vm-${VMID}-disk-0`);
    expect(lab.world.vms.get(VMID)?.process?.guest).toBeUndefined();
  });

  it('is impossible: what the file does not mention is shown as inherited, and kept', async () => {
    const lab = scene();
    const end = await lab.apply(stack('memory: 8GiB'));
    expect(failuresOf(end)).toEqual([]);
    const inherited = end.kind === 'ended' ? end.plan.changes.flatMap((change) => change.inherited) : [];
    expect(inherited.join('\n')).toContain('scsi0');
    expect(config(lab, 'scsi0')).toContain(`vm-${VMID}-disk-0`);
    expect(lab.world.vms.get(VMID)?.process?.guest).toBeDefined();
  });
});

describe('the boot order naming a NIC that is gone', () => {
  it('happens to a client that removes the NIC first and asks for the order then', async () => {
    let said = '';
    await naively(scene(), async (pve) => {
      await cloned(pve);
      const { config: handle } = pve.node('pve1').vm(VMID);
      await handle.put({ delete: 'net0' });
      said = await failureOf(handle.put({ boot: 'order=scsi0;net0' }));
    });
    expect(said).toContain("invalid bootorder: device 'net0' does not exist");
  });

  it('is impossible: the NIC is kept, and where the file removes it nothing is created', async () => {
    const lab = scene();
    expect(failuresOf(await lab.apply(stack('boot: [scsi0, net0]')))).toEqual([]);
    expect(config(lab, 'boot')).toBe('order=scsi0;net0');
    expect(config(lab, 'net0')).toContain('bridge=vmbr0');
    const refused = () => resolved(stack('boot: [scsi0, net0], nics: { net0: { remove: true } }'));
    expect(refused).toThrow(/boot.*net0|net0.*boot/s);
  });
});

describe('the missing interface id', () => {
  it('happens to a client that sends a NIC without its number', async () => {
    let said = '';
    await naively(scene(), async (pve) => {
      await cloned(pve);
      said = await failureOf(pve.node('pve1').vm(VMID).config.put({ net: 'virtio,bridge=vmbr1' }));
    });
    expect(said).toContain('net');
    expect(said).toContain('property is not defined in schema');
  });

  it('is impossible: a NIC is named by its slot, and any other name is refused with its line', async () => {
    const lab = scene();
    expect(failuresOf(await lab.apply(stack('nics: { net1: { bridge: vmbr1 } }')))).toEqual([]);
    expect(config(lab, 'net1')).toContain('bridge=vmbr1');
    expect(() => resolved(stack('nics: { net: { bridge: vmbr1 } }'))).toThrow(/stack\.yaml:5:/);
  });
});

describe('the configuration lost to a lock after the clone', () => {
  const otherClient: FaultRuleInput = { kind: 'lock', match: { path: 'config' }, at: 1, for_ms: 15_000 };

  it('happens to a client that continues after "can\'t lock file": the VM runs with 2 GB and 2 cores', async () => {
    const lab = scene([otherClient]);
    let said = '';
    await naively(lab, async (pve) => {
      await cloned(pve);
      const vm = pve.node('pve1').vm(VMID);
      said = await failureOf(vm.config.put({ memory: 8192, cores: 4 }));
      await lab.clock.sleep(10_000);
      await pve.tasks.wait(await vm.status.start());
    });
    expect(said).toContain("can't lock file");
    expect([config(lab, 'memory'), config(lab, 'cores')]).toEqual(['2048', '2']);
    expect(lab.world.vms.get(VMID)?.process).toBeDefined();
  });

  it('is impossible: the write is tried again, and nothing is started before it was read back', async () => {
    const lab = scene([otherClient]);
    expect(failuresOf(await lab.apply(stack('memory: 8GiB, cpu: { cores: 4 }')))).toEqual([]);
    expect(lab.faults.strikes).toHaveLength(1);
    expect(lab.logs.join('\n')).toContain('busy, trying again');
    const launched = lab.world.vms.get(VMID)?.process?.launched;
    expect([launched?.get('memory'), launched?.get('cores')]).toEqual(['8192', '4']);
    expect(lab.wireViolations).toEqual([]);
  });
});

describe('the clone wait that times out after two minutes', () => {
  const TWO_MINUTES_MS = 120_000;

  it('happens to a client that looks for the new id in the list of tasks, though the clone took 14 s', async () => {
    const lab = scene();
    let isFound = false;
    await naively(lab, async (pve) => {
      await pve.node('pve1').vm(TEMPLATE).clone({ newid: VMID, name: 'web', full: true });
      const deadline = lab.clock.now() + TWO_MINUTES_MS;
      while (!isFound && lab.clock.now() < deadline) {
        // A clone is filed under the template.
        isFound = (await pve.node('pve1').tasks.list({ vmid: VMID })).some(({ type }) => type === 'qmclone');
        await lab.clock.sleep(2_000);
      }
    });
    const [task] = [...lab.world.tasks.values()].filter(({ type }) => type === 'qmclone');
    expect(isFound).toBe(false);
    expect(((task?.endedAt ?? 0) - (task?.startedAt ?? 0)) / 1000).toBeCloseTo(14, 0);
  });

  it('is impossible: the task is polled by the UPID that its start returned', async () => {
    const lab = scene();
    const startedAt = lab.clock.now();
    expect(failuresOf(await lab.apply(stack('memory: 8GiB')))).toEqual([]);
    expect(lab.clock.now() - startedAt).toBeLessThan(20_000);
  });
});
