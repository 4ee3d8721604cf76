/** What a world looks like: of our VMs everything but what chance decides, of strangers everything. */
import { isSeed, pictureOfVms, volumesOf } from '../../../../src/rehearse/trial/picture.ts';
import type { Vm, World } from '../../../../src/simulator/world/world.ts';

export { differences, orphans, volumesOf } from '../../../../src/rehearse/trial/picture.ts';

const TEMPLATES_FROM = 9000;

export function ourVms(world: World, strangers: ReadonlySet<number>): Vm[] {
  return [...world.vms.values()].filter(
    ({ vmid, config }) =>
      vmid < TEMPLATES_FROM && !strangers.has(vmid) && !config.current.get('name')?.startsWith('another-clients-'),
  );
}

export function pictureOf(world: World, strangers: ReadonlySet<number>): string[] {
  return pictureOfVms(world, ourVms(world, strangers));
}

/** What faults of the kind `stranger-…` do to a template that we clone. */
const BY_STRANGERS = new Set(['description', 'lock']);

/** Everything about the VMs and volumes of other people; compared as a whole. */
export function strangersPicture(world: World, strangers: ReadonlySet<number>): unknown {
  const others = [...world.vms.values()].filter(({ vmid }) => strangers.has(vmid) || vmid >= TEMPLATES_FROM);
  const ids = new Set(others.map(({ vmid }) => vmid));
  return {
    vms: others.map(({ vmid, node, config, process }) => ({
      vmid,
      node,
      config: [...config.current].filter(([key]) => vmid < TEMPLATES_FROM || !BY_STRANGERS.has(key)).sort(),
      pending: [...config.pending],
      pid: process?.pid,
    })),
    volumes: volumesOf(world)
      .filter((volume) => (volume.vmid === undefined ? !isSeed(volume) : ids.has(volume.vmid)))
      .map(({ storage, name, sizeBytes, vmid }) => ({ storage, name, sizeBytes, vmid })),
    storages: [...world.storages.keys()],
    access: [...world.access.acl],
  };
}
