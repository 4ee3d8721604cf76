import { describe, expect, it } from 'vitest';
import { DEBIAN_DISK, TestBench } from '../testing/bench.ts';
import { startVm } from '../vm/power/power.ts';
import type { Vm } from '../world/world.ts';
import { guestInterfaces, isPortOpen, linkLocalAddress } from './addresses.ts';

const CLOUD_INIT = 'local:9100/vm-9100-cloudinit.qcow2,media=cdrom';
const DEBIAN = { memory: '64', kvm: '0', agent: '1', boot: 'order=scsi0', scsi0: DEBIAN_DISK, ide2: CLOUD_INIT };

async function running(bench: TestBench, vmid: number, config: Readonly<Record<string, string>>): Promise<Vm> {
  const vm = bench.addVm(vmid, { ...DEBIAN, ...config });
  await bench.task((task) => startVm(bench.runtime, { node: bench.node, vmid, task }));
  return vm;
}

function addresses(bench: TestBench, vm: Vm, nic = 0): string[] {
  if (!vm.process) throw new Error('not running');
  return guestInterfaces(bench.runtime, vm, vm.process)[nic]?.addresses.map((entry) => entry.address) ?? [];
}

describe('the addresses of a guest', () => {
  it('appear once its network is up', async () => {
    const bench = new TestBench();
    const vm = await running(bench, 500, { net0: 'virtio=BC:24:11:00:04:20,bridge=vmbr0', ipconfig0: 'ip=dhcp' });
    expect(addresses(bench, vm)).toEqual([]);
    await bench.clock.advance(60_000);
    expect(addresses(bench, vm)).toEqual(['10.99.0.162', 'fe80::be24:11ff:fe00:420']);
  });

  it('are what the cloud-init image says', async () => {
    const bench = new TestBench();
    const vm = await running(bench, 500, {
      net0: 'virtio=BC:24:11:00:00:01,bridge=vmbr0',
      ipconfig0: 'ip=10.99.0.50/24,gw=10.99.0.1,ip6=fd00::5/64',
      net1: 'virtio=BC:24:11:00:00:02,bridge=vmbr1',
    });
    await bench.clock.advance(60_000);
    expect(addresses(bench, vm)).toEqual(['10.99.0.50', 'fd00::5', linkLocalAddress('bc:24:11:00:00:01')]);
    expect(addresses(bench, vm, 1)).toEqual([linkLocalAddress('bc:24:11:00:00:02')]);
  });

  it('differ between guests although their MACs hash alike, and stay the same for one', async () => {
    const bench = new TestBench();
    const nic = (mac: string) => ({ net0: `virtio=${mac},bridge=vmbr0`, ipconfig0: 'ip=dhcp' });
    const found = new Set<string>();
    for (let index = 0; index < 30; index++) {
      const mac = `BC:24:11:00:00:${index.toString(16).padStart(2, '0')}`;
      const vm = await running(bench, 500 + index, nic(mac));
      await bench.clock.advance(60_000);
      const [address = ''] = addresses(bench, vm);
      expect(addresses(bench, vm)[0]).toBe(address);
      found.add(address);
    }
    expect(found.size).toBe(30);
  });

  it('make ports reachable', async () => {
    const bench = new TestBench();
    await running(bench, 500, { net0: 'virtio=BC:24:11:00:04:20,bridge=vmbr0', ipconfig0: 'ip=10.99.0.51/24' });
    expect(isPortOpen(bench.runtime, '10.99.0.51', 22)).toBe(false);
    await bench.clock.advance(60_000);
    expect(isPortOpen(bench.runtime, '10.99.0.51', 22)).toBe(true);
    expect(isPortOpen(bench.runtime, '10.99.0.51', 50_000)).toBe(false);
    expect(isPortOpen(bench.runtime, '10.99.0.52', 22)).toBe(false);
  });
});
