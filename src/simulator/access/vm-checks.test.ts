import { beforeEach, describe, expect, it } from 'vitest';
import type { Call } from '../core/call.ts';
import type { Runtime } from '../core/runtime.ts';
import { grant, refusalOf, testCall, testRuntime } from '../testing/access.ts';
import {
  checkBridgeAccess,
  checkCpuModelAccess,
  checkCreateDevicePermissions,
  checkDevicePermission,
  checkMappingAccess,
} from './device-checks.ts';
import { allowedTags, checkDrivePermission, checkTagPermissions, checkVmModifyPermissions } from './vm-checks.ts';
import { checkStorageAccess, checkStorageAccessClone, checkVolumeAccess } from './volume-checks.ts';

let runtime: Runtime;
let call: Call;
const USER = 'who@pve';
const denied = (what: string) => `403 Permission check failed (${what})`;

beforeEach(() => {
  runtime = testRuntime();
  grant(runtime, USER, '/nodes', []);
  call = testCall(runtime, USER);
});

describe('privileges by key', () => {
  const modify = (...keys: string[]) => refusalOf(() => checkVmModifyPermissions(call, 100, undefined, keys));

  it.each([
    ['cores', 'VM.Config.CPU'],
    ['numa3', 'VM.Config.CPU'],
    ['allow-ksm', 'VM.Config.Memory'],
    ['scsihw', 'VM.Config.HWType'],
    ['onboot', 'VM.Config.Options'],
    ['boot', 'VM.Config.Disk'],
    ['net12', 'VM.Config.Network'],
    ['freeze', 'VM.PowerMgmt'],
    ['ipconfig0', 'VM.Config.Cloudinit|VM.Config.Network'],
  ])('wants for %s %s', (key, privilege) => {
    expect(modify(key)).toBe(denied(`/vms/100, ${privilege}`));
  });

  it('keeps all other keys for root@pam, whose tokens are not root', () => {
    expect(modify('args')).toBe("500 only root can set 'args' config");
    const asToken = testCall(runtime, 'root@pam!test');
    expect(refusalOf(() => checkVmModifyPermissions(asToken, 100, undefined, ['vmgenid']))).toBe(
      "500 only root can set 'vmgenid' config",
    );
    const asRoot = testCall(runtime, 'root@pam');
    expect(refusalOf(() => checkVmModifyPermissions(asRoot, 100, undefined, ['args']))).toBeUndefined();
  });

  it('wants Sys.Modify on / for the start order', () => {
    grant(runtime, USER, '/vms', ['VM.Config.Options']);
    expect(modify('name', 'startup')).toBe(denied('/, Sys.Modify'));
  });

  it('skips keys whose value decides', () => {
    expect(modify('scsi0', 'cdrom', 'unused0', 'serial0', 'usb0', 'hostpci0', 'virtiofs0', 'tags')).toBeUndefined();
  });

  it('accepts rights on the pool but names the VM when they are missing', () => {
    grant(runtime, USER, '/pool/team', ['VM.Config.CPU']);
    const inPool = (key: string) => refusalOf(() => checkVmModifyPermissions(call, 600, 'team', [key]));
    expect(inPool('cores')).toBeUndefined();
    expect(inPool('memory')).toBe(denied('/vms/600, VM.Config.Memory'));
  });

  it('decides by the value whether a drive is a disk, a CD or for cloud-init', () => {
    const drive = (value: string) => refusalOf(() => checkDrivePermission(call, 100, 'ide2', value));
    expect(drive('local:1')).toBe(denied('/vms/100, VM.Config.Disk'));
    expect(drive('none,media=cdrom')).toBe(denied('/vms/100, VM.Config.CDROM'));
    expect(drive('local:cloudinit')).toBe(denied('/vms/100, VM.Config.Cloudinit'));
    grant(runtime, USER, '/vms', ['VM.Config.Cloudinit']);
    expect(drive('local:100/vm-100-cloudinit.qcow2,media=cdrom')).toBe(denied('/vms/100, VM.Config.CDROM'));
  });
});

describe('devices of the host', () => {
  it('checks the mapping of a PCI device first, then the VM', () => {
    const pci = (value: string) => refusalOf(() => checkDevicePermission(call, 100, undefined, 'hostpci0', value));
    expect(pci('mapping=gpu')).toBe(denied('/mapping/pci/gpu, Mapping.Use'));
    grant(runtime, USER, '/mapping/pci/gpu', ['Mapping.Use']);
    expect(pci('mapping=gpu')).toBe(denied('/vms/100, VM.Config.HWType'));
    grant(runtime, USER, '/vms', ['VM.Config.HWType']);
    expect(pci('mapping=gpu')).toBeUndefined();
    expect(pci('mapping=gpu,romfile=x.rom')).toBe(
      "400 Parameter verification failed. hostpci0: only root@pam can set 'romfile' option",
    );
    expect(pci('0000:01:00')).toBe("500 only root can set 'hostpci0' config for non-mapped devices");
  });

  it('checks the VM of a USB device first and allows SPICE', () => {
    const usb = (value: string) => refusalOf(() => checkDevicePermission(call, 100, undefined, 'usb0', value));
    expect(usb('mapping=key')).toBe(denied('/vms/100, VM.Config.HWType'));
    grant(runtime, USER, '/vms', ['VM.Config.HWType']);
    expect(usb('spice')).toBeUndefined();
    expect(usb('mapping=key')).toBe(denied('/mapping/usb/key, Mapping.Use'));
    expect(usb('1234:5678')).toBe("500 only root can set 'usb0' config for real devices");
    expect(usb('usb3=1')).toBe("500 either 'host' or 'mapping' must be set.");
  });

  it('checks a mapping only for the hardware random number generator', () => {
    grant(runtime, USER, '/vms', ['VM.Config.HWType']);
    const rng = (value: string) => refusalOf(() => checkDevicePermission(call, 100, undefined, 'rng0', value));
    expect(rng('source=/dev/urandom')).toBeUndefined();
    expect(rng('/dev/hwrng')).toBe(denied('/mapping/hwrng, Mapping.Use'));
  });

  it('lets only root create real serial ports, and wants HWType for sockets', () => {
    const create = (value: string) =>
      refusalOf(() => checkCreateDevicePermissions(call, 100, undefined, new Map([['serial0', value]])));
    expect(create('/dev/ttyS0')).toBe("500 only root can set 'serial0' config for real devices");
    expect(create('socket')).toBe(denied('/vms/100, VM.Config.HWType'));
  });

  it('checks the mappings of the source for a clone, not the VM', () => {
    const clone = (key: string, value: string) => refusalOf(() => checkMappingAccess(call, new Map([[key, value]])));
    expect(clone('virtiofs0', 'share')).toBe(denied('/mapping/dir/share, Mapping.Use'));
    expect(clone('hostpci0', '0000:01:00')).toBe("500 only root can set 'hostpci0' config for non-mapped devices");
    expect(clone('serial0', '/dev/ttyS0')).toBeUndefined();
  });

  it('checks the bridge, or its VLANs instead', () => {
    const bridge = (value: string) => refusalOf(() => checkBridgeAccess(call, new Map([['net0', value]])));
    const path = '/sdn/zones/localnetwork/vmbr0';
    expect(bridge('virtio,bridge=vmbr0')).toBe(denied(`${path}, SDN.Use`));
    expect(bridge('virtio,bridge=vmbr0,tag=50')).toBe(denied(`${path}/50, SDN.Use`));
    expect(bridge('virtio')).toBeUndefined();
    grant(runtime, USER, `${path}/50`, ['SDN.Use']);
    grant(runtime, USER, `${path}/51`, ['SDN.Use']);
    expect(bridge('virtio,bridge=vmbr0,tag=50')).toBeUndefined();
    expect(bridge('virtio,bridge=vmbr0,trunks=50-51')).toBeUndefined();
    expect(bridge('virtio,bridge=vmbr0,trunks=50-52')).toBe(denied(`${path}/52, SDN.Use`));
    expect(bridge('virtio,bridge=vmbr0')).toBe(denied(`${path}, SDN.Use`));
  });

  it('checks a custom CPU model only when it changes', () => {
    const cpu = (value: string, before?: string) =>
      refusalOf(() =>
        checkCpuModelAccess(call, new Map([['cpu', value]]), before ? new Map([['cpu', before]]) : undefined),
      );
    expect(cpu('host')).toBeUndefined();
    expect(cpu('custom-avx,flags=+aes')).toBe(denied('/mapping/cpu/avx, Mapping.Use'));
    expect(cpu('custom-avx,flags=+aes', 'custom-avx')).toBeUndefined();
  });

  it('requires Sys.Audit on /nodes in releases where CPU models have no ACL paths', () => {
    const version = { ...runtime.world.version, version: '9.1.1' };
    const older = testCall({ ...runtime, world: { ...runtime.world, version } }, USER);
    const model = new Map([['cpu', 'custom-avx']]);
    expect(refusalOf(() => checkCpuModelAccess(older, model, undefined))).toBe(denied('/nodes, Sys.Audit'));
  });
});

describe('storages and volumes', () => {
  const access = (key: string, value: string, defaultStorage?: string) =>
    refusalOf(() => checkStorageAccess(call, 300, new Map([[key, value]]), defaultStorage));

  it('wants AllocateSpace for a new disk, on the storage given or the default one', () => {
    expect(access('scsi0', 'local:1')).toBe(denied('/storage/local, Datastore.AllocateSpace'));
    expect(access('scsi0', '1', 'local2')).toBe(denied('/storage/local2, Datastore.AllocateSpace'));
    expect(access('scsi0', '1')).toBe('500 no storage ID specified (and no default storage)');
  });

  it('checks the storage only after the privilege', () => {
    grant(runtime, USER, '/storage', ['Datastore.AllocateSpace']);
    expect(access('scsi0', 'nosuch:1')).toBe("500 storage 'nosuch' does not exist");
    expect(access('scsi0', 'isoonly:1')).toBe(
      "400 Parameter verification failed. storage: storage 'isoonly' does not support vm images",
    );
    expect(access('scsi0', 'local:1')).toBeUndefined();
  });

  it('requires nothing for cloud-init and empty drives, and Sys.Console for the drive of the host', () => {
    expect(access('ide2', 'local:cloudinit')).toBeUndefined();
    expect(access('ide2', 'none,media=cdrom')).toBeUndefined();
    expect(access('ide2', 'cdrom,media=cdrom')).toBe(denied('/, Sys.Console'));
  });

  it('wants to read the storage for an ISO image', () => {
    const iso = 'local:iso/blob.iso,media=cdrom';
    expect(access('ide2', iso)).toBe(denied('/storage/local, Datastore.AllocateSpace|Datastore.Audit'));
    grant(runtime, USER, '/storage/local', ['Datastore.Audit']);
    expect(access('ide2', iso)).toBeUndefined();
  });

  it('wants rights on the owner for the image of another VM', () => {
    const volume = 'local:100/vm-100-disk-0.raw';
    const attach = () => refusalOf(() => checkVolumeAccess(call, 300, volume));
    expect(attach()).toBe(denied('/storage/local, Datastore.Audit'));
    grant(runtime, USER, '/storage/local', ['Datastore.Audit']);
    expect(attach()).toBe(denied('/vms/100, VM.Config.Disk'));
    expect(refusalOf(() => checkVolumeAccess(call, 100, volume))).toBeUndefined();
    grant(runtime, USER, '/storage/local', ['Datastore.Allocate']);
    expect(attach()).toBeUndefined();
  });

  it('reserves host paths for root, with the file and line in the message', () => {
    expect(refusalOf(() => checkVolumeAccess(call, 300, '/dev/sda'))).toBe(
      '500 Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 651.',
    );
    expect(refusalOf(() => checkVolumeAccess(testCall(runtime, 'root@pam'), 300, '/dev/sda'))).toBeUndefined();
  });

  it('wants VM.Clone to import the disk of another VM', () => {
    grant(runtime, USER, '/storage/local', ['Datastore.AllocateSpace']);
    expect(access('scsi0', 'local:0,import-from=local:import/cloud.qcow2')).toBeUndefined();
    expect(access('scsi0', 'local:0,import-from=local:100/vm-100-disk-0.raw')).toBe(denied('/vms/100, VM.Clone'));
    expect(access('scsi0', 'local:0,import-from=local:iso/blob.iso')).toBe(
      "400 Parameter verification failed. scsi0: local:iso/blob.iso has wrong type 'iso' - needs to be 'images' or 'import'",
    );
  });

  it('wants AllocateSpace for the storage of the saved memory', () => {
    expect(access('vmstatestorage', 'local2')).toBe(denied('/storage/local2, Datastore.AllocateSpace'));
  });

  it('checks the target storage of a clone, or that of every disk', () => {
    const source = new Map([
      ['scsi0', 'local:9000/base-9000-disk-0.qcow2'],
      ['ide2', 'local2:9000/vm-9000-cloudinit.qcow2,media=cdrom'],
    ]);
    const clone = (target?: string) => refusalOf(() => checkStorageAccessClone(call, source, target));
    expect(clone()).toBe(denied('/storage/local, Datastore.AllocateSpace'));
    expect(clone('tiny')).toBe(denied('/storage/tiny, Datastore.AllocateSpace'));
    grant(runtime, USER, '/storage/tiny', ['Datastore.AllocateSpace']);
    expect(clone('tiny')).toBeUndefined();
    expect(checkStorageAccessClone(call, source, 'tiny')).toBe(false);
    expect(checkStorageAccessClone(call, new Map([['ide2', 'none,media=cdrom']]), undefined)).toBe(true);
  });
});

describe('tags', () => {
  const change = (before: string, after: string) => refusalOf(() => checkTagPermissions(call, 100, before, after));

  it('wants VM.Config.Options on the VM', () => {
    expect(change('', 'web')).toBe(denied('/vms/100, VM.Config.Options'));
  });

  it('reserves registered tags for users with Sys.Modify, and checks only changes', () => {
    grant(runtime, USER, '/vms', ['VM.Config.Options']);
    runtime.world.datacenter.set('registered-tags', 'prod;db');
    expect(change('', 'web')).toBeUndefined();
    expect(change('web', 'prod;web')).toBe(denied("/, Sys.Modify for modifying tag 'prod'"));
    expect(change('prod', 'prod;web')).toBeUndefined();
    expect(change('prod', '')).toBe(denied("/, Sys.Modify for modifying tag 'prod'"));
    grant(runtime, USER, '/', ['Sys.Modify']);
    expect(change('', 'prod')).toBeUndefined();
  });

  it('limits users to the tags the datacenter allows', () => {
    grant(runtime, USER, '/vms', ['VM.Config.Options', 'VM.Audit']);
    const vm = runtime.world.vms.get(100);
    if (vm) vm.config = { ...vm.config, current: new Map([...vm.config.current, ['tags', 'seen']]) };
    runtime.world.datacenter.set('user-tag-access', 'user-allow=list,user-allow-list=a;b');
    expect(change('', 'a')).toBeUndefined();
    expect(change('', 'c')).toBe(denied("/, Sys.Modify for modifying tag 'c'"));
    expect(allowedTags(call)).toEqual(['a', 'b']);
    runtime.world.datacenter.set('user-tag-access', 'user-allow=existing');
    expect(change('', 'seen')).toBeUndefined();
    expect(allowedTags(call)).toEqual(['seen']);
  });
});
