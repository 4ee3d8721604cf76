/** GET /nodes/{node}/qemu/{vmid}/feature: whether all disks of a VM can be snapshotted, cloned or copied. */
import type { CallTo, Routes } from '../../../core/call.ts';
import { dieFault } from '../../../http/response.ts';
import { hasFeature, type VolumeFeature } from '../../../storage/features.ts';
import { storageConfig } from '../../../storage/volumes.ts';
import { assertVmExists } from '../../../vm/config-file.ts';
import { drivesOf } from '../../../vm/drive.ts';
import type { World } from '../../../world/world.ts';

function getFeature(call: CallTo<'GET /nodes/{node}/qemu/{vmid}/feature'>): { hasFeature: number; nodes: string[] } {
  const { world } = call.runtime;
  const vm = assertVmExists(world, call.node, call.params.vmid);
  const feature = call.params.feature as VolumeFeature; // the schema admits snapshot, clone and copy
  const snapshot = call.params.snapname || undefined;
  const config = snapshot === undefined ? vm.config.current : vm.config.snapshots.get(snapshot);
  if (!config) throw dieFault(`snapshot '${snapshot}' does not exist`);
  const nodes = sharedNodes(world, call.node, config);
  const running = vm.process !== undefined;
  const all = drivesOf(config)
    .filter((drive) => !drive.isCdrom)
    .every((drive) => hasFeature(world, call.node, feature, drive.file, { snapshot, running }));
  return { hasFeature: all ? 1 : 0, nodes };
}

/** Rule [source QS QemuServer.pm shared_nodes]: the nodes that reach all volumes, CD images included. */
function sharedNodes(world: World, node: string, config: ReadonlyMap<string, string>): string[] {
  let nodes = [...world.nodes.keys()];
  for (const drive of drivesOf(config)) {
    const id = /^([a-z][a-z0-9\-_.]*[a-z0-9]):./i.exec(drive.file)?.[1];
    if (id === undefined) continue;
    const storage = storageConfig(world, id);
    if (storage.disabled) return [];
    if (storage.nodes) nodes = nodes.filter((each) => storage.nodes?.has(each));
    else if (!storage.shared) nodes = nodes.filter((each) => each === node);
  }
  return nodes;
}

export const featureRoutes: Routes = { 'GET /nodes/{node}/qemu/{vmid}/feature': getFeature };
