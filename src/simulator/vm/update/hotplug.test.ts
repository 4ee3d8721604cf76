import { describe, expect, it } from 'vitest';
import { ConfigBench, DEBIAN_DISK } from '../../testing/bench.ts';

const NIC = 'virtio=BC:24:11:00:00:01,bridge=vmbr0';
const MINUTE_MS = 60_000;

/** A VM whose guest has booted (or, without a system on its disk, never does). */
async function running(
  config: Record<string, string> = {},
  options: { withGuest?: boolean } = {},
): Promise<ConfigBench> {
  const bench = new ConfigBench();
  const system: Record<string, string> = options.withGuest ? { virtio0: DEBIAN_DISK, boot: 'order=virtio0' } : {};
  bench.addVm(700, { kvm: '0', ostype: 'l26', ...system, ...config });
  await bench.start(700);
  await bench.clock.run(() => bench.clock.sleep(5 * MINUTE_MS));
  return bench;
}

async function problems(work: Promise<unknown>): Promise<Record<string, string>> {
  try {
    await work;
  } catch (error) {
    return (error as { errors?: Record<string, string> }).errors ?? {};
  }
  return {};
}

const pendingKeys = async (bench: ConfigBench) => (await bench.pending(700)).map((entry) => entry.key);

describe('a running VM', () => {
  it.each<[string, Record<string, string>, Record<string, string | number>]>([
    ['name and tags', {}, { name: 'new', tags: 'b;a' }],
    ['cloud-init keys', {}, { ciuser: 'x', ipconfig0: 'ip=dhcp' }],
    ['CPU limits', {}, { cpulimit: 1.5, cpuunits: 200 }],
    ['protection and start order', {}, { protection: 1, startup: 'order=2', onboot: 1 }],
    ['the tablet', {}, { tablet: 0 }],
    ['a balloon where there was one', {}, { balloon: 128 }],
    ['a USB port', {}, { usb0: 'spice' }],
    ['hotplug itself', {}, { hotplug: 'network' }],
    ['trimming through the agent', { agent: '1' }, { agent: '1,fstrim_cloned_disks=1' }],
    ['the link of a NIC', { net0: NIC }, { net0: `${NIC},link_down=1` }],
    ['a new NIC', {}, { net1: NIC }],
    ['a new SCSI disk', {}, { scsi3: 'local:1' }],
    ['a medium', { ide2: 'none,media=cdrom' }, { ide2: 'local:iso/blob.iso,media=cdrom' }],
  ])('applies %s immediately', async (_, config, change) => {
    const bench = await running(config);
    await bench.put(700, change);
    expect(await bench.pending(700)).toEqual([]);
    const after = await bench.config(700, { current: 1 });
    for (const key of Object.keys(change)) expect(after).toHaveProperty(key);
  });

  it.each<[string, Record<string, string>, Record<string, string | number>]>([
    ['cores', {}, { cores: 2 }],
    ['memory', {}, { memory: 1024 }],
    ['vcpus', {}, { vcpus: 1 }],
    ['the CPU model', {}, { cpu: 'qemu64' }],
    ['the machine', {}, { machine: 'q35' }],
    ['boot', { net0: NIC }, { boot: 'order=net0' }],
    ['switching the balloon off', {}, { balloon: 0 }],
    ['switching the agent on', {}, { agent: '1' }],
    ['the type of the agent', { agent: '1' }, { agent: '1,type=isa' }],
    ['a default of the agent spelt out', { agent: '1' }, { agent: '1,type=virtio' }],
    ['processor hotplug', {}, { hotplug: 'cpu' }],
    ['a USB port without hotplug', { hotplug: 'disk' }, { usb0: 'spice' }],
    ['a USB port of an unknown system', { ostype: 'other' }, { usb0: 'spice' }],
    ['a NIC without hotplug', { hotplug: '0' }, { net1: NIC }],
    ['a SATA disk', {}, { sata0: 'local:1' }],
    ['a new CD drive', {}, { ide3: 'none,media=cdrom' }],
    ['an EFI disk', {}, { efidisk0: 'local:1' }],
  ])('keeps %s pending', async (_, config, change) => {
    const bench = await running(config);
    await bench.put(700, change);
    expect(await pendingKeys(bench)).toEqual(Object.keys(change));
  });

  it('keeps changed caching pending but applies throttling', async () => {
    const bench = new ConfigBench();
    const volid = await bench.disk(700);
    bench.addVm(700, { kvm: '0', scsi1: volid });
    await bench.start(700);
    await bench.put(700, { scsi1: `${volid},mbps=5` });
    expect(await bench.pending(700)).toEqual([]);
    await bench.put(700, { scsi1: `${volid},mbps=5,cache=writeback` });
    expect(await pendingKeys(bench)).toEqual(['scsi1']);
  });

  it('releases a NIC immediately if a system helps, else at the next firmware reset', async () => {
    const deaf = await running({ net0: NIC });
    const before = deaf.clock.now();
    expect(await problems(deaf.put(700, { delete: 'net0' }))).toEqual({
      net0: "hotplug problem - error on hot-unplugging device 'net0' - still busy in guest?\n",
    });
    expect(deaf.clock.now() - before).toBe(6_000);
    expect(await pendingKeys(deaf)).toEqual(['net0']);
    await deaf.put(700, { delete: 'net0' });
    expect(await pendingKeys(deaf)).toEqual([]);

    const debian = await running({ net0: NIC }, { withGuest: true });
    await debian.put(700, { delete: 'net0' });
    expect(await debian.config(700, { current: 1 })).not.toHaveProperty('net0');
  });

  it('replaces a NIC whose model changes', async () => {
    const bench = await running({ net0: NIC }, { withGuest: true });
    await bench.put(700, { net0: 'e1000=BC:24:11:00:00:01,bridge=vmbr0' });
    expect((await bench.config(700, { current: 1 })).net0).toBe('e1000=BC:24:11:00:00:01,bridge=vmbr0');
  });

  it('reports a missing bridge', async () => {
    const bench = await running({ net0: NIC });
    expect(await problems(bench.put(700, { net0: NIC.replace('vmbr0', 'vmbr9') }))).toEqual({
      net0: "hotplug problem - bridge 'vmbr9' is neither a linux nor an OVS bridge!\n",
    });
    expect((await problems(bench.put(700, { net1: NIC.replace('vmbr0', 'vmbr9') }))).net1).toMatch(
      /'netdev_add' failed/,
    );
  });

  it('needs host support for VLANs and rates', async () => {
    const bench = await running({ net0: NIC });
    expect(await problems(bench.put(700, { net0: `${NIC},tag=3` }))).toEqual({
      net0: "hotplug problem - no physical interface on bridge 'vmbr0'\n",
    });
    expect((await problems(bench.put(700, { net0: `${NIC},rate=5` }))).net0).toMatch(
      /^hotplug problem - command '\/sbin\/tc filter add dev tap700i0 .* police rate 5242880bps .* failed: exit code 2/,
    );
    expect((await problems(bench.put(700, { net1: `${NIC},mtu=9000` }))).net1).toMatch(/bigger than the bridge MTU/);
    expect((await problems(bench.put(700, { net2: `${NIC},tag=3` }))).net2).toMatch(/failed with status 65280/);
  });

  it('never releases its boot disk, nor a disk on IDE', async () => {
    const bench = new ConfigBench();
    const [scsi, ide] = [await bench.disk(700), await bench.disk(700)];
    bench.addVm(700, { kvm: '0', scsi0: scsi, ide0: ide, boot: 'order=scsi0' });
    await bench.start(700);
    expect(await problems(bench.put(700, { scsi0: 'local:1' }))).toEqual({
      scsi0: "hotplug problem - can't unplug bootdisk 'scsi0'\n",
    });
    expect(await problems(bench.put(700, { ide0: 'local:1' }))).toEqual({
      ide0: "hotplug problem - can't unplug device 'ide0'\n",
    });
    expect(await problems(bench.put(700, { delete: 'ide0' }))).toEqual({});
    expect(await pendingKeys(bench)).toEqual(['ide0', 'scsi0']);
  });

  it('releases a SCSI disk immediately, but its controller only with a running guest; the second attempt succeeds', async () => {
    const bench = new ConfigBench();
    const [first, second] = [await bench.disk(700), await bench.disk(700)];
    bench.addVm(700, { kvm: '0', scsi0: first, scsi1: second, scsihw: 'virtio-scsi-single' });
    await bench.start(700);
    bench.pause(700);
    expect(await problems(bench.put(700, { delete: 'scsi1' }))).toEqual({
      scsi1: "hotplug problem - error on hot-unplugging device 'virtioscsi1' - still busy in guest?\n",
    });
    await bench.put(700, { delete: 'scsi1' });
    expect(await bench.config(700, { current: 1 })).toMatchObject({ unused0: second });
  });

  it('keeps the shared controller while a disk is left on it', async () => {
    const bench = new ConfigBench();
    const [first, second] = [await bench.disk(700), await bench.disk(700)];
    bench.addVm(700, { kvm: '0', scsi0: first, scsi1: second, scsihw: 'virtio-scsi-pci' });
    await bench.start(700);
    await bench.put(700, { delete: 'scsi1', force: 1 });
    expect(bench.exists(second)).toBe(false);
    bench.pause(700);
    expect(await problems(bench.put(700, { delete: 'scsi0' }))).toEqual({
      scsi0: "hotplug problem - error on hot-unplugging device 'scsihw0' - still busy in guest?\n",
    });
  });

  it('refuses an empty CD drive on a bus that can be plugged', async () => {
    const bench = await running();
    expect(await problems(bench.put(700, { scsi4: 'none,media=cdrom' }))).toEqual({
      scsi4: "hotplug problem - unable to parse volume ID 'none'\n",
    });
    expect(await pendingKeys(bench)).toEqual(['scsi4']);
  });

  it('does not turn a disk into a CD drive', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, { kvm: '0', scsi1: await bench.disk(700) });
    await bench.start(700);
    expect(await problems(bench.put(700, { scsi1: 'none,media=cdrom' }))).toEqual({
      scsi1: 'hotplug problem - unable to change media type\n',
    });
  });

  it('adds memory in whole modules and never goes below the first gibibyte', async () => {
    const bench = await running({ hotplug: 'memory', numa: '1', memory: '1024' });
    await bench.put(700, { memory: 2000 });
    expect((await bench.config(700, { current: 1 })).memory).toBe('2048');
    expect((await problems(bench.put(700, { memory: 512 }))).memory).toMatch(
      /^hotplug problem - memory can't be lower than 1024 MB at /,
    );
    expect(await problems(bench.put(700, { memory: 1024 }))).toEqual({
      memory: 'hotplug problem - 400 Parameter verification failed.\ndimm1: error unplug memory module\n',
    });
  });

  it('adds processors up to what it was started with', async () => {
    const bench = await running({ hotplug: 'cpu', cores: '2', vcpus: '1' });
    await bench.put(700, { vcpus: 2 });
    expect((await bench.config(700, { current: 1 })).vcpus).toBe(2);
    expect(await problems(bench.put(700, { vcpus: 3 }))).toEqual({
      vcpus: "hotplug problem - you can't add more vcpus than maxcpus\n",
    });
    expect(await problems(bench.put(700, { vcpus: 1 }))).toEqual({
      vcpus: 'hotplug problem - 400 Parameter verification failed.\nvcpus: error unplugging cpu2\n',
    });
  });

  it('records what its cloud-init image does not contain yet, and clears it with cloud-init hotplug', async () => {
    const bench = await running({ ide2: 'none,media=cdrom' });
    await bench.put(700, { ide2: 'local:cloudinit' });
    const { config } = bench.runtime.world.vms.get(700) ?? {};
    expect(config?.current.get('ide2')).toBe('local:700/vm-700-cloudinit.qcow2,media=cdrom');
    await bench.put(700, { ciuser: 'a', name: 'b' });
    expect(bench.runtime.world.vms.get(700)?.config.cloudInit).toEqual(new Map([['added', 'ciuser,name']]));
    await bench.put(700, { delete: 'ciuser' });
    await bench.put(700, { hotplug: 'cloudinit,disk' });
    expect(bench.runtime.world.vms.get(700)?.config.cloudInit).toEqual(new Map([['added', 'name']]));
    await bench.put(700, { citype: 'nocloud' });
    expect(bench.runtime.world.vms.get(700)?.config.cloudInit).toBeUndefined();
  });
});
