import { describe, expect, it } from 'vitest';
import { DEBIAN_DISK, TestBench } from '../../testing/bench.ts';
import { startVm } from './power.ts';
import { bootDiskBytes, currentVmStatus, fullVmStatus, vmStatus } from './status.ts';

const BLANK = { memory: '64', kvm: '0' };

function statusOf(config: Readonly<Record<string, string>>) {
  const bench = new TestBench();
  return currentVmStatus(bench.runtime, bench.addVm(500, config));
}

describe('the status of a VM', () => {
  it('is short while it is stopped', () => {
    expect(statusOf(BLANK)).toEqual({
      vmid: 500,
      name: 'VM 500',
      status: 'stopped',
      qmpstatus: 'stopped',
      cpus: 1,
      cpu: 0,
      maxmem: 67_108_864,
      mem: 0,
      memhost: 0,
      maxdisk: 0,
      disk: 0,
      uptime: 0,
      netin: 0,
      netout: 0,
      ha: { managed: 0 },
    });
  });

  it('has its process, its uptime and its NICs while it runs', async () => {
    const bench = new TestBench();
    const vm = bench.addVm(500, { ...BLANK, net2: 'virtio=BC:24:11:00:00:01,bridge=vmbr0' });
    await bench.task((task) => startVm(bench.runtime, { node: 'pve1', vmid: 500, task }));
    await bench.clock.advance(8_500);
    expect(fullVmStatus(bench.runtime, vm)).toMatchObject({
      status: 'running',
      qmpstatus: 'running',
      uptime: 8,
      pid: vm.process?.pid,
      nics: { tap500i2: {} },
      pressurecpusome: 0,
    });
    expect(vmStatus(bench.runtime, vm)).not.toHaveProperty('nics');
  });

  it('counts sent bytes once the network is up, and received bytes from the start', async () => {
    const bench = new TestBench();
    const nic = { net0: 'virtio=BC:24:11:00:00:01,bridge=vmbr0', boot: 'order=scsi0', scsi0: DEBIAN_DISK };
    const vm = bench.addVm(500, { ...BLANK, ...nic });
    await bench.task((task) => startVm(bench.runtime, { node: 'pve1', vmid: 500, task }));
    // This guest has its network 42 s after power-on.
    await bench.clock.advance(41_000);
    expect(vmStatus(bench.runtime, vm)).toMatchObject({ netin: expect.toSatisfy((n) => n > 0), netout: 0 });
    await bench.clock.advance(1_500);
    expect(vmStatus(bench.runtime, vm)).toMatchObject({ netout: expect.toSatisfy((n) => n > 0) });
  });

  it('shows flags only if they are set', () => {
    const status = statusOf({ ...BLANK, template: '1', serial0: 'socket', tags: 'a;b', lock: 'clone', agent: '1' });
    expect(status).toMatchObject({ template: 1, serial: 1, tags: 'a;b', lock: 'clone', agent: 1 });
    expect(statusOf({ ...BLANK, agent: '0', template: '0' })).not.toHaveProperty('agent');
    expect(statusOf({ ...BLANK, template: '0' })).not.toHaveProperty('template');
    expect(statusOf({ ...BLANK, balloon: '32' })).toMatchObject({ balloon_min: 33_554_432, shares: 1000 });
    expect(statusOf({ ...BLANK, balloon: '0' })).not.toHaveProperty('shares');
  });

  it('has a clipboard, perhaps null, as soon as there is a display setting', () => {
    expect(statusOf({ ...BLANK, vga: 'serial0' })).toMatchObject({ clipboard: null });
    expect(statusOf({ ...BLANK, vga: 'std,clipboard=vnc' })).toMatchObject({ clipboard: 'vnc' });
    expect(statusOf({ ...BLANK, vga: 'qxl' })).toMatchObject({ spice: 1 });
    expect(statusOf(BLANK)).not.toHaveProperty('clipboard');
  });

  it('counts no more CPUs than the node has, unless vcpus is set', () => {
    expect(statusOf({ ...BLANK, cores: '4', sockets: '2' }).cpus).toBe(2);
    expect(statusOf({ ...BLANK, cores: '4', vcpus: '3' }).cpus).toBe(3);
  });
});

describe('the size of the boot disk', () => {
  const size = (config: Record<string, string>) => bootDiskBytes(new Map(Object.entries(config)));

  it('is that of the first disk in the boot order, whatever precedes it', () => {
    const disks = { ide2: 'local:iso/a.iso,media=cdrom,size=3M', scsi1: 'local:500/vm-500-disk-1.raw,size=2G' };
    expect(size({ ...disks, boot: 'order=net0;ide2;scsi0;scsi1' })).toBe(2_147_483_648);
    expect(size({ ...disks, boot: 'order=ide2' })).toBe(0);
    expect(size(disks)).toBe(0);
    expect(size({ ...disks, bootdisk: 'scsi1' })).toBe(2_147_483_648);
  });
});
