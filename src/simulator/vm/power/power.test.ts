import { describe, expect, it } from 'vitest';
import { guestState } from '../../guests/guest.ts';
import { DEBIAN_DISK, TestBench } from '../../testing/bench.ts';
import type { Vm } from '../../world/world.ts';
import { rebootVm, resetVm, shutdownVm, startVm, stopVm } from './power.ts';
import { isPaused, pauseVm, resumeVm } from './suspend.ts';

const BLANK = { memory: '64', kvm: '0' };
const DEBIAN = { ...BLANK, agent: '1', boot: 'order=scsi0', scsi0: DEBIAN_DISK };

function bench(config: Readonly<Record<string, string>> = BLANK, seed?: string) {
  const world = new TestBench(seed);
  const vm = world.addVm(500, config);
  const power = (act: typeof startVm, extra: object = {}) =>
    world.task((task) => act(world.runtime, { node: world.node, vmid: 500, task, ...extra }));
  return { world, vm, power };
}

async function bootedDebian() {
  const setUp = bench(DEBIAN);
  await setUp.power(startVm);
  await setUp.world.clock.advance(60_000);
  return setUp;
}

function isBooted(world: TestBench, vm: Vm): boolean {
  return guestState(vm.process, world.clock.now()).booted;
}

describe('starting a VM', () => {
  it('creates a process, so that a second start fails', async () => {
    const { vm, power } = bench();
    expect((await power(startVm)).exitStatus).toBe('OK');
    expect(vm.process?.qmpStatus).toBe('running');
    const again = await power(startVm);
    expect(again.exitStatus).toBe('VM 500 already running');
    expect(again.log).toEqual(['TASK ERROR: VM 500 already running']);
  });

  it.each([
    ['a template', { ...BLANK, template: '1' }, "you can't start a vm if it's a template"],
    ['a locked VM', { ...BLANK, lock: 'clone' }, 'VM is locked (clone)'],
    ['a missing bridge', { ...BLANK, net0: 'virtio=BC:24:11:00:00:01,bridge=vmbr9' }, "bridge 'vmbr9' does not exist"],
    [
      'a missing volume',
      { ...BLANK, scsi0: 'local:500/vm-500-disk-0.raw' },
      "volume 'local:500/vm-500-disk-0.raw' does not exist",
    ],
    ['a missing PCI mapping', { ...BLANK, hostpci0: 'mapping=gpu' }, "PCI device mapping not found for 'gpu'"],
    ['more CPUs than the node has', { ...BLANK, cores: '64' }, 'MAX 2 vcpus allowed per VM on this node'],
    [
      'KVM on a host without it',
      { memory: '64' },
      'KVM virtualisation configured, but not available. Either disable in VM configuration or enable in BIOS.',
    ],
  ])('is refused for %s', async (_what, config, text) => {
    const { vm, power } = bench(config);
    expect((await power(startVm)).exitStatus).toBe(text);
    expect(vm.process).toBeUndefined();
  });

  it('reports only the first of several problems, volumes before KVM before bridges', async () => {
    const bridge = { net0: 'virtio=BC:24:11:00:00:01,bridge=vmbr9' };
    const { power } = bench({ memory: '64', ...bridge });
    expect((await power(startVm)).exitStatus).toMatch(/^KVM virtualisation/);
    const other = bench({ memory: '64', ...bridge, ide2: 'local:iso/nosuch.iso,media=cdrom' });
    expect((await other.power(startVm)).exitStatus).toBe("volume 'local:iso/nosuch.iso' does not exist");
  });

  it('logs a bad PCI mapping twice, because the clean-up fails on it, too', async () => {
    const { power } = bench({ ...BLANK, hostpci0: 'mapping=gpu' });
    expect((await power(startVm)).log).toEqual([
      "PCI device mapping not found for 'gpu'",
      "TASK ERROR: PCI device mapping not found for 'gpu'",
    ]);
  });

  it('logs that it creates the cloud-init image, with a new volume if it is missing, but not that of another VM', async () => {
    const { power } = bench({ ...BLANK, ide2: 'local:9100/vm-9100-cloudinit.qcow2,media=cdrom' });
    expect((await power(startVm)).log).toEqual(['TASK OK']);
    const own = bench({ ...BLANK, ide2: 'local:500/vm-500-cloudinit.qcow2,media=cdrom' });
    const { log } = await own.power(startVm);
    expect(log[0]).toBe("failed to stat '/var/lib/vz/images/500/vm-500-cloudinit.qcow2'");
    expect(log.slice(2)).toEqual(['generating cloud-init ISO', 'TASK OK']);
  });

  it('fails for a missing VM with the message about its configuration file', async () => {
    const { world } = bench();
    const record = await world.task((task) => startVm(world.runtime, { node: 'pve1', vmid: 4711, task }));
    expect(record.exitStatus).toBe("Configuration file 'nodes/pve1/qemu-server/4711.conf' does not exist");
  });
});

describe('ending a VM', () => {
  it('succeeds if it is already stopped', async () => {
    const { power } = bench();
    expect((await power(stopVm)).exitStatus).toBe('OK');
    expect((await power(shutdownVm)).exitStatus).toBe('OK');
  });

  it('gives up on a guest that ignores the power button, and leaves it running', async () => {
    const { vm, power } = bench();
    await power(startVm);
    expect((await power(shutdownVm, { timeoutSeconds: 2 })).exitStatus).toBe('VM quit/powerdown failed - got timeout');
    expect(vm.process).toBeDefined();
  });

  it('kills it on request', async () => {
    const { vm, power } = bench();
    await power(startVm);
    const record = await power(shutdownVm, { timeoutSeconds: 2, force: true });
    expect(record.log).toEqual(['VM still running - terminating now with SIGTERM', 'TASK OK']);
    expect(vm.process).toBeUndefined();
  });

  it('takes a few seconds with a responsive guest', async () => {
    const { world, vm, power } = await bootedDebian();
    const startedAt = world.clock.now();
    expect((await power(shutdownVm)).log).toEqual(['TASK OK']);
    expect(vm.process).toBeUndefined();
    expect(world.clock.now() - startedAt).toBeGreaterThan(3_000);
    expect(world.clock.now() - startedAt).toBeLessThan(6_000);
  });

  it('loses three seconds on an agent that does not answer', async () => {
    const { world, power } = bench({ ...BLANK, agent: '1' });
    await power(startVm);
    const startedAt = world.clock.now();
    const record = await power(shutdownVm, { timeoutSeconds: 1 });
    expect(record.log[0]).toBe(
      "QEMU Guest Agent is not running - VM 500 qga command 'guest-ping' failed - got timeout",
    );
    expect(world.clock.now() - startedAt).toBeGreaterThanOrEqual(4_000);
  });

  it('continues inside the guest after the task has given up', async () => {
    const { world, vm, power } = await bootedDebian();
    expect((await power(shutdownVm, { timeoutSeconds: 1 })).exitStatus).toBe('VM quit/powerdown failed - got timeout');
    expect(vm.process).toBeDefined();
    await world.clock.advance(5_000);
    expect(vm.process).toBeUndefined();
  });

  it('keeps the lock while it waits, so that an impatient stop fails', async () => {
    const { world, power } = bench();
    await power(startVm);
    const waiting = world.runtime.tasks.fork('pve1', 'qmshutdown', '500', 'root@pam', (task) =>
      shutdownVm(world.runtime, { node: 'pve1', vmid: 500, task }),
    );
    await world.clock.advance(1_000);
    const record = await power(stopVm);
    expect(record.exitStatus).toBe("can't lock file '/var/lock/qemu-server/lock-500.conf' - got timeout");
    expect(record.log[0]).toBe('trying to acquire lock...');
    await world.clock.run(() => world.runtime.tasks.ended(waiting));
  });

  it('may leave the lock to the clean-up if it is started again immediately', async () => {
    const outcomes = new Set<string | undefined>();
    for (let seed = 0; seed < 12; seed++) {
      const { power } = bench(BLANK, `seed ${seed}`);
      await power(startVm);
      await power(stopVm);
      await power(startVm);
      outcomes.add((await power(stopVm)).exitStatus);
    }
    expect(outcomes).toEqual(new Set(['OK', "can't lock file '/var/lock/qemu-server/lock-500.conf' - got timeout"]));
  });
});

describe('rebooting a VM', () => {
  it('ends when the guest is down; a task of root@pam starts it again a moment later', async () => {
    const { world, vm, power } = await bootedDebian();
    const before = vm.process;
    expect((await power(rebootVm)).exitStatus).toBe('OK');
    expect(vm.process).toBeUndefined();
    await world.clock.advance(3_000);
    expect(vm.process).toBeDefined();
    expect(vm.process).not.toBe(before);
    const last = [...world.runtime.world.tasks.values()].at(-1);
    expect(last).toMatchObject({ type: 'qmstart', user: 'root@pam', exitStatus: 'OK' });
  });

  it('that failed does not turn the next shutdown into a reboot', async () => {
    const { world, vm, power } = bench();
    await power(startVm);
    await power(rebootVm, { timeoutSeconds: 1 });
    await power(stopVm);
    await world.clock.advance(10_000);
    expect(vm.process).toBeUndefined();
  });
});

describe('a guest in a running VM', () => {
  it('boots again after a reset, in the same process', async () => {
    const { world, vm, power } = await bootedDebian();
    const { process } = vm;
    expect(isBooted(world, vm)).toBe(true);
    expect((await power(resetVm)).exitStatus).toBe('OK');
    expect(vm.process).toBe(process);
    expect(isBooted(world, vm)).toBe(false);
  });

  it('does not continue while the VM is paused', async () => {
    const { world, vm, power } = bench(DEBIAN);
    await power(startVm);
    await power(pauseVm);
    expect(isPaused(vm)).toBe(true);
    await world.clock.advance(600_000);
    await power(resumeVm);
    expect(isBooted(world, vm)).toBe(false);
    await world.clock.advance(60_000);
    expect(isBooted(world, vm)).toBe(true);
  });
});
