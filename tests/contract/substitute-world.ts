/** The recorded world under a `Substitution`, so that a substituted scenario finds the VMs and storages it talks about. */
import type { Storage, Vm, Volume, World } from '../../src/simulator/world/world.ts';
import { substituteText } from './substitute.ts';
import type { Substitution } from './substitution.ts';

export function substituteWorld(world: World, substitution: Substitution): World {
  return {
    ...world,
    vms: new Map([...world.vms.values()].map((vm) => substituteVm(vm, substitution)).map((vm) => [vm.vmid, vm])),
    storages: new Map(
      [...world.storages.values()]
        .map((storage) => substituteStorage(storage, substitution))
        .map((storage) => [storage.id, storage]),
    ),
  };
}

/** The digest stays as it was: it only has to differ from VM to VM, and every write computes it again. */
function substituteVm(vm: Vm, substitution: Substitution): Vm {
  const section = (values: ReadonlyMap<string, string>) =>
    new Map([...values].map(([key, value]) => [key, substituteText(value, key, substitution)]));
  const { config } = vm;
  return {
    ...vm,
    vmid: substituteVmid(vm.vmid, substitution),
    config: {
      ...config,
      current: section(config.current),
      pending: section(config.pending),
      snapshots: new Map([...config.snapshots].map(([name, values]) => [name, section(values)])),
      cloudInit: config.cloudInit && section(config.cloudInit),
    },
  };
}

function substituteStorage(storage: Storage, substitution: Substitution): Storage {
  const substitute = substitution.storages.get(storage.id);
  const id = substitute?.name ?? storage.id;
  return {
    ...storage,
    id,
    path: substitute && storage.path === substitute.oldPath ? substitute.path : storage.path,
    volumes: new Map(
      [...storage.volumes].map(([node, volumes]) => [
        node,
        new Map(
          [...volumes.values()]
            .map((volume) => substituteVolume(volume, id, substitution))
            .map((volume) => [volume.name, volume]),
        ),
      ]),
    ),
  };
}

function substituteVolume(volume: Volume, storage: string, substitution: Substitution): Volume {
  const size = substitution.sizes.find(({ fromKiB }) => fromKiB * 1024 === volume.sizeBytes);
  return {
    ...volume,
    storage,
    name: substituteVolumeName(volume.name, substitution),
    sizeBytes: size ? size.toKiB * 1024 : volume.sizeBytes,
    vmid: volume.vmid === undefined ? undefined : substituteVmid(volume.vmid, substitution),
    parent: volume.parent === undefined ? undefined : substituteVolumeName(volume.parent, substitution),
  };
}

/** A name such as `100/vm-100-disk-0.raw` is recognised by the colon that stands before it in a volume id. */
function substituteVolumeName(name: string, substitution: Substitution): string {
  return substituteText(`:${name}`, 'volid', substitution).slice(1);
}

function substituteVmid(vmid: number, { vmids }: Substitution): number {
  return Number(vmids.get(String(vmid)) ?? vmid);
}
