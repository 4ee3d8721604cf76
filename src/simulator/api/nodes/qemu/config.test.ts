import { describe, expect, it } from 'vitest';
import { ConfigBench } from '../../../testing/bench.ts';
import { loadVm } from '../../../vm/config/config-file.ts';

const DISK = 'local:700/vm-700-disk-0.raw';

/** The refusal of a call, as it would be answered. */
async function refusal(work: Promise<unknown>): Promise<{ message: string; errors?: Record<string, string> }> {
  try {
    await work;
  } catch (error) {
    return error as { message: string };
  }
  throw new Error('nothing was refused');
}

describe('GET config', () => {
  it('returns numbers as numbers and hides a password, unless Perl treats it as false', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, { cores: '2', onboot: '1', cpulimit: '1.50', memory: '256', cipassword: 'secret' });
    bench.addVm(701, { cipassword: '0' });
    expect(await bench.config(700)).toEqual({
      cores: 2,
      onboot: 1,
      cpulimit: '1.50',
      memory: '256',
      cipassword: '**********',
    });
    expect(await bench.config(701)).toEqual({ cipassword: '0' });
  });

  it('refuses a snapshot together with current before it checks the VM', async () => {
    const bench = new ConfigBench();
    const { errors } = await refusal(bench.config(999, { snapshot: 'one', current: 1 }));
    expect(Object.keys(errors ?? {}).sort()).toEqual(['current', 'snapshot']);
    bench.addVm(700, {});
    expect((await refusal(bench.config(700, { snapshot: 'one' }))).message).toBe("snapshot 'one' does not exist\n");
  });

  it('shows pending values unless current is requested', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, { kvm: '0', cores: '1', name: 'a' });
    await bench.start(700);
    await bench.put(700, { cores: 2, delete: 'kvm' });
    // A pending deletion of a false value is ignored.
    expect(await bench.config(700)).toMatchObject({ cores: 2, kvm: 0 });
    expect(await bench.config(700, { current: 1 })).toMatchObject({ cores: 1, kvm: 0 });
    expect(await bench.pending(700)).toEqual([
      { key: 'cores', value: 1, pending: 2 },
      { key: 'kvm', value: 0, delete: 1 },
    ]);
  });
});

describe('an update', () => {
  it('that is refused halfway leaves the earlier keys pending, and the next update applies them', async () => {
    const leftOvers = new Set<string>();
    for (const seed of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const bench = new ConfigBench(seed);
      bench.addVm(700, {});
      const refused = bench.put(700, { cores: 2, sockets: 2, boot: 'order=scsi5' });
      expect((await refusal(refused)).message).toBe("invalid bootorder: device 'scsi5' does not exist'\n");
      const left = (await bench.pending(700)).map((entry) => entry.key);
      leftOvers.add(left.join());
      await bench.put(700, { name: 'x' });
      expect(Object.keys(await bench.config(700)).sort()).toEqual([...left, 'name'].sort());
    }
    expect(leftOvers.size).toBeGreaterThan(1);
  });

  it('keeps a refused forced deletion pending as forced, so that a later change executes it', async () => {
    const bench = new ConfigBench();
    const volid = await bench.disk(700);
    bench.addVm(700, { scsi0: volid, boot: 'order=scsi0' });
    const may = (path: string) => !path.startsWith('/storage/');
    const { errors } = await refusal(bench.put(700, { delete: 'scsi0', force: 1 }, { may }));
    expect(errors?.scsi0).toMatch(/^unable to apply pending change scsi0 : 403 /);
    expect(await bench.pending(700)).toEqual([{ key: 'scsi0', value: volid, delete: 2 }]);
    expect(await bench.config(700, { current: 1 })).toEqual({ scsi0: volid, boot: ' ' });
    await bench.put(700, { name: 'x' });
    expect(await bench.config(700)).toEqual({ boot: ' ', name: 'x' });
    expect(bench.exists(volid)).toBe(false);
  });

  it('logs keys that it could not delete', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, {});
    expect(await bench.post(700, { delete: 'net3,cores' })).toEqual([
      'update VM 700: -delete net3,cores',
      "cannot delete 'net3' - not set in current configuration!",
      "cannot delete 'cores' - not set in current configuration!",
      'TASK OK',
    ]);
  });

  it('detaches disks into the lowest free unused slots and takes them out of the boot order', async () => {
    const bench = new ConfigBench();
    const [first, second] = [await bench.disk(700), await bench.disk(700)];
    bench.addVm(700, { scsi0: first, scsi1: second, unused0: 'local:700/vm-700-disk-7.raw', boot: 'order=scsi0;net0' });
    await bench.put(700, { delete: 'scsi0,scsi1' });
    expect(await bench.config(700)).toEqual({
      boot: 'order=net0',
      unused0: 'local:700/vm-700-disk-7.raw',
      unused1: first,
      unused2: second,
    });
    await bench.put(700, { delete: 'unused1' });
    expect(bench.exists(first)).toBe(false);
    await bench.put(700, { virtio0: second });
    expect(await bench.config(700)).toEqual({
      boot: 'order=net0',
      unused0: 'local:700/vm-700-disk-7.raw',
      virtio0: `${second},size=4M`,
    });
  });

  it.each(['efidisk0', 'tpmstate0', 'virtio0'])('answers OK and stores nothing when %s is set to none', async (key) => {
    const bench = new ConfigBench();
    bench.addVm(700, { kvm: '0' });
    await bench.put(700, { [key]: 'none' });
    expect(await bench.config(700)).toEqual({ kvm: 0 });
  });

  it('leaves foreign volumes alone and does not list them as unused', async () => {
    const bench = new ConfigBench();
    const foreign = await bench.disk(701);
    bench.addVm(700, { scsi0: foreign });
    await bench.put(700, { delete: 'scsi0', force: 1 });
    expect(await bench.config(700)).toEqual({});
    expect(bench.exists(foreign)).toBe(true);
  });

  it('warns when the storage of a detached disk no longer exists', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, { scsi0: 'gone:700/vm-700-disk-0.raw' });
    expect(await bench.post(700, { delete: 'scsi0' })).toContain(
      "WARN: storage 'gone' no longer exists, volume 'gone:700/vm-700-disk-0.raw' will be removed from config",
    );
  });

  it('protects disks if protection is on', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, { scsi0: DISK, unused0: 'local:700/vm-700-disk-1.raw', protection: '1' });
    expect((await refusal(bench.put(700, { delete: 'scsi0' }))).message).toBe(
      "can't remove drive 'scsi0' - protection mode enabled\n",
    );
    expect((await refusal(bench.put(700, { delete: 'unused0' }))).message).toBe(
      "can't remove unused disk 'local:700/vm-700-disk-1.raw' - protection mode enabled\n",
    );
  });

  it('drops the lock of a suspended VM with its saved state', async () => {
    const bench = new ConfigBench();
    const state = await bench.disk(700, { name: 'vm-700-state-suspend.raw' });
    const vm = bench.addVm(700, { lock: 'suspended', vmstate: state, runningmachine: 'pc', runningcpu: 'kvm64' });
    expect((await refusal(bench.put(700, { cores: 2 }))).message).toBe('VM is locked (suspended)\n');
    await bench.put(700, { delete: 'vmstate' });
    expect([...vm.config.current.keys()]).toEqual([]);
    expect(bench.exists(state)).toBe(false);
  });

  it('hashes a password unless it is a hash already or the guest is Windows', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, {});
    bench.addVm(701, { ostype: 'win11' });
    const stored = (vmid: number) => loadVm(bench.runtime.world, bench.node, vmid).config.current.get('cipassword');
    await bench.put(700, { cipassword: 'secret' });
    const first = stored(700);
    expect(first).toMatch(/^\$5\$[^$]{8}\$[^$]{43}$/);
    await bench.put(700, { cipassword: 'secret' });
    expect(stored(700)).not.toBe(first);
    await bench.put(700, { cipassword: '$6$salt$hash' });
    expect(stored(700)).toBe('$6$salt$hash');
    await bench.put(701, { cipassword: 'secret' });
    expect(stored(701)).toBe('secret');
  });

  it('accepts empty SSH keys, which change only the digest', async () => {
    const bench = new ConfigBench();
    const vm = bench.addVm(700, { sshkeys: 'ssh-ed25519' });
    const { digest } = vm.config;
    await bench.put(700, { sshkeys: '' });
    expect(vm.config.current.get('sshkeys')).toBe('ssh-ed25519');
    expect(vm.config.digest).not.toBe(digest);
    expect((await refusal(bench.put(700, { sshkeys: '%23comment' }))).message).toBe(
      'SSH public key validation error\n',
    );
    expect((await refusal(bench.put(700, { sshkeys: '%zz' }))).message).toBe('SSH public key validation error\n');
    const truncated = 'ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIHVzZXJAZXhhbXBsZS5jb20gdGVzdCBrZXkgYQ%20a';
    expect((await refusal(bench.put(700, { sshkeys: truncated }))).message).toBe('SSH public key validation error\n');
  });

  it('checks the hook script before the privileges', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, {});
    const hook = async (volid: string) => (await refusal(bench.put(700, { hookscript: volid }))).errors?.hookscript;
    expect(await hook('local:snippets/no.sh')).toBe("script 'local:snippets/no.sh' does not exist\n");
    expect(await hook('local:iso/x.iso')).toBe("'local:iso/x.iso' is not in the snippets directory\n");
    expect(await hook('gone:snippets/no.sh')).toBe("storage 'gone' does not exist\n");
  });

  it('pins the machine of a guest that becomes Windows, unless the request sets the machine', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, { machine: 'q35' });
    expect(await bench.post(700, { ostype: 'win11' })).toContain(
      "pinning machine type to 'pc-q35-10.0+pve1' for Windows guest OS",
    );
    expect((await bench.config(700)).machine).toBe('pc-q35-10.0+pve1');
    bench.addVm(701, { machine: 'q35' });
    await bench.put(701, { ostype: 'win11', delete: 'machine' });
    expect(await bench.config(701)).toEqual({ ostype: 'win11' });
    expect((await refusal(bench.put(701, { machine: 'pc,viommu=intel' }))).message).toMatch(/^to use Intel vIOMMU/);
  });

  it('turns smp into sockets once it is applied', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, { cores: '2' });
    await bench.put(700, { smp: 3 });
    expect(await bench.config(700)).toEqual({ sockets: 3 });
  });

  it('replaces the old boot letters and their boot disk', async () => {
    const bench = new ConfigBench();
    const volid = await bench.disk(700);
    bench.addVm(700, { boot: 'cdn', bootdisk: 'scsi0', scsi0: volid });
    await bench.put(700, { boot: 'legacy=c,order=scsi0' });
    expect(await bench.config(700)).toEqual({ boot: 'order=scsi0', scsi0: volid });
  });

  it('unlink is delete under another name', async () => {
    const bench = new ConfigBench();
    const volid = await bench.disk(700);
    bench.addVm(700, { scsi0: volid });
    await bench.ask('PUT /nodes/{node}/qemu/{vmid}/unlink', { vmid: 700, idlist: 'scsi0' });
    expect(await bench.config(700)).toEqual({ unused0: volid });
  });

  it('creates the image of an attached cloud-init drive and fails afterwards if a snippet is missing', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, { cicustom: 'user=local:snippets/none.yaml' });
    const refused = bench.put(700, { ide2: 'local:cloudinit' });
    expect((await refusal(refused)).message).toBe("volume 'local:snippets/none.yaml' does not exist\n");
    expect((await bench.config(700)).ide2).toBe('local:700/vm-700-cloudinit.qcow2,media=cdrom');
    await bench.put(700, { delete: 'cicustom,ide2' });
    expect(await bench.config(700)).toEqual({});
    expect(bench.exists('local:700/vm-700-cloudinit.qcow2')).toBe(false);
    expect((await bench.post(700, { sata1: 'local:cloudinit' })).at(-2)).toBe('generating cloud-init ISO');
  });
});

describe('revert', () => {
  it('drops pending values and pending deletions', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, { kvm: '0', cores: '1' });
    await bench.start(700);
    await bench.put(700, { cores: 2, sockets: 2, delete: 'kvm' });
    await bench.put(700, { revert: 'cores,kvm' });
    expect(await bench.pending(700)).toEqual([{ key: 'sockets', pending: 2 }]);
    await bench.put(700, { revert: 'sockets' });
    expect(await bench.pending(700)).toEqual([]);
  });

  it('keeps the volume of a pending disk as unused', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, { kvm: '0' });
    await bench.start(700);
    await bench.put(700, { sata0: 'local:1' });
    expect(await bench.pending(700)).toEqual([{ key: 'sata0', pending: `${DISK},size=1G` }]);
    await bench.put(700, { revert: 'sata0' });
    expect(await bench.config(700)).toEqual({ kvm: 0, unused0: DISK });
  });
});
