/** …/migrate: moving a VM to another node, offline or running; its local disks are copied along. */
import { parseSize, splitList } from '../../../../pve/wire/index.ts';
import type { Call, CallTo, Routes } from '../../../core/call.ts';
import { storageOfFile } from '../../../guests/launch.ts';
import { requestHaMigration } from '../../../ha/requests.ts';
import { isHaManaged } from '../../../ha/resources.ts';
import { dieFault, paramFault } from '../../../http/response.ts';
import { checkStorageEnabled, isOnNode } from '../../../storage/volumes.ts';
import { checkLock, loadVm } from '../../../vm/config/config-file.ts';
import { type Drive, drivesOf } from '../../../vm/disks/drive.ts';
import { localResources, mappedResources, missingOn } from '../../../vm/local-resources.ts';
import { migrateVm } from '../../../vm/migration.ts';
import type { Vm } from '../../../world/world.ts';

export const migrateRoutes: Routes = {
  'GET /nodes/{node}/qemu/{vmid}/migrate': preconditions,
  'POST /nodes/{node}/qemu/{vmid}/migrate': migrate,
};

/** Rule [recorded migrate-refusals]: what prevents a migration, for each of the other nodes. */
function preconditions(call: CallTo<'GET /nodes/{node}/qemu/{vmid}/migrate'>): Record<string, unknown> {
  const { world } = call.runtime;
  const vm = loadVm(world, call.node, call.params.vmid);
  checkLock(vm);
  const mapped = mappedResources(world, vm);
  const notAllowed: Record<string, Record<string, string[]>> = {};
  const allowed: string[] = [];
  for (const node of world.nodes.keys()) {
    if (node === call.node) continue;
    const storages = unavailableStorages(call, vm, node);
    const devices = missingOn(world, mapped, node);
    if (storages.length + devices.length === 0) allowed.push(node);
    else {
      notAllowed[node] = {
        ...(storages.length > 0 ? { unavailable_storages: storages } : {}),
        ...(devices.length > 0 ? { 'unavailable-resources': devices } : {}),
      };
    }
  }
  return {
    running: vm.process ? 1 : 0,
    allowed_nodes: allowed,
    not_allowed_nodes: notAllowed,
    local_disks: drivesOf(vm.config.current, { unused: true }).flatMap((drive) => localDiskView(call, drive)),
    local_resources: localResources(world, vm),
    'mapped-resources': mapped.map(({ key }) => key).sort(),
    'mapped-resource-info': Object.fromEntries(
      mapped.map(({ key, id, isLive }) => [key, { name: id, ...(isLive && { 'live-migration': 1 }) }]),
    ),
    'has-dbus-vmstate': 1,
  };
}

function localDiskView(call: Call, drive: Drive): Record<string, unknown>[] {
  const storageId = storageOfFile(drive.file);
  if (storageId !== undefined && call.runtime.world.storages.get(storageId)?.shared) return [];
  if (drive.file === 'none' || drive.options.get('shared') === '1') return [];
  const isUnused = drive.key.startsWith('unused');
  const size = drive.options.get('size');
  return [
    {
      volid: drive.file,
      drivename: drive.key,
      cdrom: drive.isCdrom && !drive.isCloudInit ? 1 : 0,
      is_attached: isUnused ? 0 : 1,
      is_unused: isUnused ? 1 : 0,
      is_cloudinit: drive.isCloudInit ? 1 : 0,
      is_tpmstate: drive.key === 'tpmstate0' ? 1 : 0,
      is_vmstate: 0,
      replicate: drive.options.get('replicate') === '0' ? 0 : 1,
      shared: 0,
      ...(size === undefined ? {} : { size: parseSize(size) }),
    },
  ];
}

function unavailableStorages(call: Call, vm: Vm, node: string): string[] {
  const storages = new Set(drivesOf(vm.config.current).map((drive) => storageOfFile(drive.file)));
  return [...storages]
    .filter((id) => id !== undefined)
    .filter((id) => {
      const storage = call.runtime.world.storages.get(id);
      return !storage || storage.disabled || !isOnNode(storage, node);
    })
    .sort();
}

/** Rule [recorded migrate-refusals]: the target is checked before the VM. */
function migrate(call: CallTo<'POST /nodes/{node}/qemu/{vmid}/migrate'>): string {
  const { runtime, params } = call;
  const { world } = runtime;
  const target = params.target;
  if (target === call.node) throw paramFault({ target: 'target is local node.' });
  if (!world.nodes.has(target)) throw dieFault(`no such cluster node '${target}'`);
  for (const name of ['force', 'migration_type', 'migration_network']) {
    const value = call.texts[name] ?? undefined;
    if (value !== undefined && value !== '0' && !call.caller.isRoot) {
      throw paramFault({ [name]: 'Only root may use this option.' });
    }
  }
  const vmid = params.vmid;
  const vm = loadVm(world, call.node, vmid);
  checkLock(vm);
  if (vm.process && !params.online) throw dieFault("can't migrate running VM without --online");
  const storageMap = storageMapOf(params.targetstorage);
  if (storageMap) requireTargetStorages(call, vm, storageMap, target);
  const targetOf = (id: string) => storageMap?.get(id) ?? storageMap?.get('*') ?? id;
  for (const drive of drivesOf(vm.config.current)) {
    const storageId = storageOfFile(drive.file);
    if (storageId === undefined) continue;
    const storage = checkStorageEnabled(world, storageId, call.node);
    checkStorageEnabled(world, storage.shared ? storageId : targetOf(storageId), target);
  }
  if (isHaManaged(world, vmid)) {
    const { node } = call;
    return call.fork('hamigrate', String(vmid), (task) => requestHaMigration(runtime, { node, vmid, task }, target));
  }
  return call.fork('qmigrate', String(vmid), (task) =>
    migrateVm(runtime, {
      node: call.node,
      vmid,
      target,
      task,
      withLocalDisks: params['with-local-disks'] ?? false,
      targetStorageOf: targetOf,
    }),
  );
}

/** `a:b,c` maps a to b and everything else to c; `1` maps each storage to itself. */
function storageMapOf(list: string | undefined): Map<string, string> | undefined {
  if (list === undefined) return undefined;
  const entries = splitList(list).filter((item) => item !== '1');
  return new Map(
    entries.map((item) => {
      const [from, to] = item.split(':');
      return to === undefined ? ['*', item] : [from ?? '', to];
    }),
  );
}

function requireTargetStorages(call: Call, vm: Vm, map: ReadonlyMap<string, string>, target: string): void {
  if (map.size > 0) call.require(`/vms/${vm.vmid}`, ['VM.Config.Disk']);
  for (const storageId of map.values()) {
    call.require(`/storage/${storageId}`, ['Datastore.AllocateSpace']);
    const storage = checkStorageEnabled(call.runtime.world, storageId, target);
    // Rule [source QS API2/Qemu.pm $check_storage_access_migrate].
    if (!storage.content.has('images')) {
      throw paramFault({ storage: `storage '${storageId}' does not support vm images` });
    }
  }
}
