/** From an empty host to a running VM, over the wire. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isPortOpen } from '../guests/addresses.ts';
import { findVolume } from '../storage/volumes.ts';
import { TestClient } from '../testing/client.ts';
import { isoImage } from '../testing/storage.ts';
import { BARE_CLUSTER_WORLD, BARE_WORLD } from './bare-world.ts';
import { madeUpChecksums, WELL_KNOWN_URLS } from './well-known-downloads.ts';
import type { WorldFile } from './world-file.ts';

const HOST = '/nodes/vmhost';
const DOWNLOAD = `${HOST}/storage/local/download-url`;
const MAC = 'BC:24:11:00:00:01';

const ok = { exitStatus: 'OK' };

async function stopped(client: TestClient, vmid: number): Promise<void> {
  for (let minute = 0; client.world.vms.get(vmid)?.process && minute < 30; minute++) await client.clock.advance(60_000);
}

describe('a bare host', () => {
  it('has storage and bridges and nothing else', async () => {
    const client = new TestClient(BARE_WORLD);
    expect(client.world.vms.size).toBe(0);
    const storages = (await client.ask('GET', `${HOST}/storage`)) as { storage: string; active: number }[];
    expect(storages.map(({ storage, active }) => [storage, active])).toEqual([
      ['local', 1],
      ['local-lvm', 1],
      ['tank', 1],
    ]);
    expect(await client.ask('GET', `${HOST}/storage/local/content`)).toEqual([]);
  });

  it('goes from a cloud image to a template and to clones that boot', async () => {
    const client = new TestClient(BARE_WORLD);
    const { sha256 = '' } = madeUpChecksums(WELL_KNOWN_URLS.ubuntuNoble);
    const image = { url: WELL_KNOWN_URLS.ubuntuNoble, content: 'import', filename: 'noble.qcow2' };
    const check = { checksum: sha256, 'checksum-algorithm': 'sha256' };
    expect(await client.task('POST', DOWNLOAD, { ...image, ...check })).toMatchObject(ok);
    const disk = 'tank:0,import-from=local:import/noble.qcow2';
    const config = { vmid: 9000, scsi0: disk, ide2: 'tank:cloudinit', net0: `virtio=${MAC},bridge=vmbr0` };
    expect(await client.task('POST', `${HOST}/qemu`, { ...config, boot: 'order=scsi0' })).toMatchObject(ok);
    expect(await client.task('POST', `${HOST}/qemu/9000/template`)).toMatchObject(ok);
    expect(await client.ask('GET', `${HOST}/qemu/9000/config`)).toMatchObject({
      scsi0: 'tank:base-9000-disk-0,size=3584M',
      ide2: 'tank:vm-9000-cloudinit,media=cdrom',
    });
    expect(await client.task('POST', `${HOST}/qemu/9000/clone`, { newid: 101, full: 0 })).toMatchObject(ok);
    await client.ask('PUT', `${HOST}/qemu/101/config`, { ipconfig0: 'ip=10.0.20.31/24' });
    expect(await client.task('POST', `${HOST}/qemu/101/status/start`)).toMatchObject(ok);
    await client.clock.advance(60_000);
    expect(isPortOpen(client.simulator.runtime, '10.0.20.31', 22)).toBe(true);
    // Its base stays as long as the clone exists.
    expect((await client.task('DELETE', `${HOST}/qemu/9000`)).exitStatus).toBe(
      "base volume 'tank:base-9000-disk-0' is still in use by linked cloned",
    );
  });

  it('installs Talos from its ISO only with a machine configuration, and then boots it from the disk', async () => {
    const client = new TestClient(BARE_WORLD);
    const iso = { url: WELL_KNOWN_URLS.talosMetalIso, content: 'iso', filename: 'talos.iso' };
    expect(await client.task('POST', DOWNLOAD, iso)).toMatchObject(ok);
    const config = { vmid: 9000, scsi0: 'tank:20', ide2: 'local:iso/talos.iso,media=cdrom', boot: 'order=scsi0;ide2' };
    await client.task('POST', `${HOST}/qemu`, { ...config, net0: `virtio=${MAC},bridge=vmbr0` });
    await client.task('POST', `${HOST}/qemu/9000/status/start`);
    await client.clock.advance(3_600_000);
    // In maintenance mode: it answers and waits.
    expect(client.world.vms.get(9000)?.process?.guest?.name).toBe('talos-installer');
    await client.task('POST', `${HOST}/qemu/9000/status/stop`);

    const seed = { fields: { content: 'iso' }, fileName: 'seed.iso' };
    expect(await client.upload(`${HOST}/storage/local/upload`, seed, isoImage('joliet'))).toMatchObject(ok);
    await client.ask('PUT', `${HOST}/qemu/9000/config`, { ide0: 'local:iso/seed.iso,media=cdrom' });
    await client.task('POST', `${HOST}/qemu/9000/status/start`);
    await stopped(client, 9000);
    const status = await client.ask('GET', `${HOST}/qemu/9000/status/current`);
    expect(status).toMatchObject({ status: 'stopped' });

    await client.ask('PUT', `${HOST}/qemu/9000/config`, { delete: 'ide0,ide2', boot: 'order=scsi0' });
    expect(await client.task('POST', `${HOST}/qemu/9000/template`)).toMatchObject(ok);
    expect(await client.task('POST', `${HOST}/qemu/9000/clone`, { newid: 101, full: 1 })).toMatchObject(ok);
    await client.task('POST', `${HOST}/qemu/101/status/start`);
    expect(client.world.vms.get(101)?.process?.guest?.name).toBe('talos');
  });

  it('restarts an installation after a reset, and continues it after a pause', async () => {
    const client = new TestClient(withIso('preseeded-installer'));
    await client.task('POST', `${HOST}/qemu`, INSTALLING);
    await client.task('POST', `${HOST}/qemu/9000/status/start`);
    await client.clock.advance(200_000);
    await client.task('POST', `${HOST}/qemu/9000/status/reset`);
    await client.task('POST', `${HOST}/qemu/9000/status/suspend`);
    await client.clock.advance(3_600_000);
    await client.task('POST', `${HOST}/qemu/9000/status/resume`);
    await client.clock.advance(240_000);
    expect(client.world.vms.get(9000)?.process).toBeDefined();
    await client.clock.advance(60_000);
    expect(client.world.vms.get(9000)?.process).toBeUndefined();
    expect(findVolume(client.world, 'vmhost', 'tank:vm-9000-disk-0')?.guest?.name).toBe('ubuntu-agent');
  });

  it('leaves a disk empty if its installation was interrupted', async () => {
    const client = new TestClient(withIso('preseeded-installer'));
    await client.task('POST', `${HOST}/qemu`, INSTALLING);
    await client.task('POST', `${HOST}/qemu/9000/status/start`);
    await client.clock.advance(200_000);
    await client.task('POST', `${HOST}/qemu/9000/status/stop`);
    await client.clock.advance(3_600_000);
    expect(findVolume(client.world, 'vmhost', 'tank:vm-9000-disk-0')?.guest).toBeUndefined();
  });

  it('boots the installed system immediately if the medium says so', async () => {
    const own = { installs: { guest: 'talos', takes_ms: 60_000, afterwards: 'reboot' as const } };
    const client = new TestClient({ ...withIso('own'), guests: { own } });
    await client.task('POST', `${HOST}/qemu`, INSTALLING);
    await client.task('POST', `${HOST}/qemu/9000/status/start`);
    await client.clock.advance(120_000);
    expect(client.world.vms.get(9000)?.process?.guest?.name).toBe('talos');
  });

  it('configures a guest with the host name and the addresses of a custom disc', async () => {
    const client = new TestClient(BARE_WORLD);
    const qcow2 = { url: WELL_KNOWN_URLS.talosNoCloudQcow2, content: 'import', filename: 'talos.qcow2' };
    await client.task('POST', DOWNLOAD, qcow2);
    const seed = { fields: { content: 'iso' }, fileName: 'seed.iso' };
    await client.upload(`${HOST}/storage/local/upload`, seed, isoImage('rockRidgeAndJoliet'));
    await client.task('POST', `${HOST}/qemu`, {
      vmid: 101,
      scsi0: 'local-lvm:0,import-from=local:import/talos.qcow2',
      ide2: 'local:iso/seed.iso,media=cdrom',
      net0: `virtio=${MAC},bridge=vmbr0`,
      boot: 'order=scsi0',
    });
    await client.task('POST', `${HOST}/qemu/101/status/start`);
    await client.clock.advance(60_000);
    expect(isPortOpen(client.simulator.runtime, '10.0.20.30', 50_000)).toBe(true);
  });

  it('reserves an address for a card if the DHCP server says so', async () => {
    const bridges = {
      vmbr0: { dhcp: { first: '10.0.20.50', last: '10.0.20.99', reservations: { [MAC]: '10.0.20.7' } } },
    };
    const client = new TestClient({
      ...BARE_WORLD,
      nodes: { vmhost: { ...BARE_WORLD.nodes.vmhost, bridges } },
      vms: {
        101: {
          config: { net0: `virtio=${MAC},bridge=vmbr0`, boot: 'order=scsi0', scsi0: 'tank:vm-101-disk-0,size=8G' },
        },
      },
      storages: {
        ...BARE_WORLD.storages,
        tank: { ...BARE_WORLD.storages?.tank, volumes: [{ name: 'vm-101-disk-0', size: '8G', guest: 'talos' }] },
      },
    });
    await client.task('POST', `${HOST}/qemu/101/status/start`);
    await client.clock.advance(60_000);
    expect(isPortOpen(client.simulator.runtime, '10.0.20.7', 50_000)).toBe(true);
  });

  it('recognises an uploaded image by the bytes that the world lists', async () => {
    const bytes = Buffer.from('the bytes of an image');
    const sum = createHash('sha256').update(bytes).digest('hex');
    const client = new TestClient({ ...BARE_WORLD, contents: { [sum]: { guest: 'talos', virtual_size: '4G' } } });
    const parts = { fields: { content: 'import' }, fileName: 'talos.raw' };
    expect(await client.upload(`${HOST}/storage/local/upload`, parts, bytes)).toMatchObject(ok);
    expect(findVolume(client.world, 'vmhost', 'local:import/talos.raw')).toMatchObject({
      guest: { name: 'talos' },
      virtualSizeBytes: 4 * 1024 ** 3,
    });
  });
});

describe('a template', () => {
  const FIRMWARE = {
    bios: 'ovmf',
    machine: 'q35',
    efidisk0: 'STORE:1,efitype=4m',
    tpmstate0: 'STORE:1,version=v2.0',
    scsi0: 'STORE:4',
    ide0: 'STORE:cloudinit',
    ide2: 'local:iso/os.iso,media=cdrom',
    boot: 'order=scsi0',
  };

  async function templateOn(storage: string): Promise<TestClient> {
    const client = new TestClient(withIso('talos-installer'));
    const config = Object.entries(FIRMWARE).map(([key, value]) => [key, value.replace('STORE', storage)]);
    expect(await client.task('POST', `${HOST}/qemu`, { vmid: 9000, ...Object.fromEntries(config) })).toMatchObject(ok);
    expect(await client.task('POST', `${HOST}/qemu/9000/template`)).toMatchObject(ok);
    return client;
  }

  it.each(['tank', 'local-lvm'])(
    'on %s has a base for every disk, firmware and TPM included, and none for CDs',
    async (storage) => {
      const client = await templateOn(storage);
      const config = (await client.ask('GET', `${HOST}/qemu/9000/config`)) as Record<string, string>;
      const fileOf = (key: string) => config[key]?.split(',')[0];
      const bases = ['efidisk0', 'scsi0', 'tpmstate0'].map(fileOf).sort();
      expect(bases).toEqual([0, 1, 2].map((index) => `${storage}:base-9000-disk-${index}`));
      expect(fileOf('ide0')).toBe(`${storage}:vm-9000-cloudinit`);
      expect(fileOf('ide2')).toBe('local:iso/os.iso');
    },
  );

  it('may be renamed and lose its ISO, and a disk that is taken away becomes unused', async () => {
    const client = await templateOn('tank');
    await client.ask('PUT', `${HOST}/qemu/9000/config`, { name: 'talos-base', delete: 'ide2' });
    await client.ask('PUT', `${HOST}/qemu/9000/config`, { delete: 'scsi0' });
    const config = (await client.ask('GET', `${HOST}/qemu/9000/config`)) as Record<string, string>;
    expect(config).toMatchObject({ name: 'talos-base', template: 1 });
    expect(config).not.toHaveProperty('ide2');
    expect(config.unused0).toMatch(/^tank:base-9000-disk-\d$/);
  });

  it('on ZFS stays while linked clones need it; on thin LVM they do not need it', async () => {
    for (const [storage, status] of [
      ['tank', /^base volume 'tank:base-9000-disk-\d' is still in use by linked cloned$/],
      ['local-lvm', /^OK$/],
    ] as const) {
      const client = await templateOn(storage);
      expect(await client.task('POST', `${HOST}/qemu/9000/clone`, { newid: 101, full: 0 })).toMatchObject(ok);
      const before = client.world.vms.get(9000)?.config.digest;
      expect((await client.task('DELETE', `${HOST}/qemu/9000`)).exitStatus).toMatch(status);
      expect(client.world.vms.get(9000)?.config.digest).toBe(storage === 'tank' ? before : undefined);
    }
  });

  it('cannot be imported from an ISO image', async () => {
    const client = new TestClient(withIso('talos'));
    const disk = { vmid: 9000, scsi0: 'tank:0,import-from=local:iso/os.iso' };
    await expect(client.task('POST', `${HOST}/qemu`, disk)).rejects.toThrow('400');
  });
});

describe('files that are packed', () => {
  it('are unpacked as ISO images if Proxmox supports the format', async () => {
    const client = new TestClient(BARE_WORLD);
    const iso = { url: WELL_KNOWN_URLS.preseededIsoGz, content: 'iso', filename: 'debian.iso', compression: 'gz' };
    expect(await client.task('POST', DOWNLOAD, iso)).toMatchObject(ok);
    expect(findVolume(client.world, 'vmhost', 'local:iso/debian.iso')).toMatchObject({
      sizeBytes: 631 * 1024 ** 2,
      guest: { name: 'preseeded-installer' },
    });
    const wrong = await client.task('POST', DOWNLOAD, { ...iso, filename: 'other.iso', compression: 'zst' });
    expect(wrong.exitStatus).toMatch(/^command 'zstd -q -d -c .*other\.iso\.tmp_dwnl\.\d+' failed: exit code 1$/);
  });

  it('that are downloaded packed result in disks that do not boot', async () => {
    const client = new TestClient(BARE_WORLD);
    const raw = { url: WELL_KNOWN_URLS.talosNoCloudRawXz, content: 'import', filename: 'talos.raw' };
    expect(await client.task('POST', DOWNLOAD, raw)).toMatchObject(ok);
    expect(findVolume(client.world, 'vmhost', 'local:import/talos.raw')?.guest).toBeUndefined();
    const named = await client.task('POST', DOWNLOAD, { ...raw, filename: 'talos.qcow2' });
    expect(named.exitStatus).toMatch(/Image is not in qcow2 format$/);
  });

  it('cannot be unpacked with xz, nor into the folder for imports', async () => {
    const client = new TestClient(BARE_WORLD);
    const raw = { url: WELL_KNOWN_URLS.talosMetalRawZst, content: 'import', filename: 'talos.raw' };
    const iso = { ...raw, content: 'iso', filename: 'talos.img' };
    const withXz = await client.task('POST', DOWNLOAD, { ...iso, compression: 'xz' });
    expect(withXz.exitStatus).toBe('no decompression method found');
    const packed = await client.task('POST', DOWNLOAD, { ...raw, compression: 'zst' });
    expect(packed.exitStatus).toBe('decompression not supported for import');
  });
});

describe('a bare cluster', () => {
  it('has local storage on every node, and a share', async () => {
    const client = new TestClient(BARE_CLUSTER_WORLD);
    const image = { url: WELL_KNOWN_URLS.debian12, content: 'import', filename: 'debian.qcow2' };
    expect(await client.task('POST', '/nodes/pve2/storage/local/download-url', image)).toMatchObject({ node: 'pve2' });
    expect(await client.ask('GET', '/nodes/pve1/storage/local/content')).toEqual([]);
    await client.task('POST', '/nodes/pve3/storage/nfs/download-url', image);
    expect(await client.ask('GET', '/nodes/pve1/storage/nfs/content')).toMatchObject([
      { volid: 'nfs:import/debian.qcow2' },
    ]);
  });

  it('accepts an upload for another node on the contacted one, and forwards it', async () => {
    const client = new TestClient(BARE_CLUSTER_WORLD);
    const parts = { fields: { content: 'iso' }, fileName: 'seed.iso' };
    const task = await client.upload('/nodes/pve2/storage/local/upload', parts, isoImage('joliet'));
    expect(task).toMatchObject({ ...ok, node: 'pve1' });
    expect(task.log).toContain('target node: pve2');
    expect(task.log.find((line) => line.startsWith('command: '))).toMatch(
      /^command: \/usr\/bin\/scp .* \[127\.0\.20\.3\]:\/var\/lib\/vz\/template\/iso\/seed\.iso$/,
    );
    expect(findVolume(client.world, 'pve2', 'local:iso/seed.iso')?.disc?.label).toBe('CIDATA');
    expect(findVolume(client.world, 'pve1', 'local:iso/seed.iso')).toBeUndefined();
    const pve2 = client.world.nodes.get('pve2');
    if (pve2) pve2.online = false;
    await expect(client.upload('/nodes/pve2/storage/local/upload', parts, new Uint8Array(10))).rejects.toThrow(
      /^500 can't activate storage 'local' on node 'pve2': command '\/usr\/bin\/ssh .*failed: exit code 255/,
    );
  });
});

const INSTALLING = {
  vmid: 9000,
  scsi0: 'tank:20',
  ide2: 'local:iso/os.iso,media=cdrom',
  boot: 'order=scsi0;ide2',
};

function withIso(guest: string): WorldFile {
  const local = { ...BARE_WORLD.storages?.local, volumes: [{ name: 'iso/os.iso', size: '600M', guest }] };
  return { ...BARE_WORLD, storages: { ...BARE_WORLD.storages, local } };
}
