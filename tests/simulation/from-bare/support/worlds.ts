/** Bare hosts with a few objects of other clients on them, none of which may be touched. */
import type { Instant } from '../../../../src/base/clock.ts';
import { buildWorld, type World, type WorldFile } from '../../../../src/simulator/index.ts';
import { BARE_CLUSTER_WORLD, BARE_WORLD } from '../../../../src/simulator/world/bare-world.ts';

/** A VM and a template of another client; the template has the id that ours would take next. */
export const STRANGERS: ReadonlySet<number> = new Set([150, 9001]);

function stranger(vmid: number, node: string, storage: string, more: Record<string, string | number>) {
  return {
    node,
    config: {
      name: `others-${vmid}`,
      memory: '512',
      scsi0: `${storage}:vm-${vmid}-disk-0,size=1G`,
      smbios1: `uuid=77777777-0000-4000-8000-00000000${String(vmid).padStart(4, '0')}`,
      ...more,
    },
  };
}

function inhabited(file: WorldFile, node: string, storage: string): WorldFile {
  const { storages = {} } = file;
  const disk = (name: string) => ({ name, node, size: '1G', used: '100M', data: '100M' });
  const isoStorage = storages.local ?? {};
  return {
    ...file,
    storages: {
      ...storages,
      local: {
        ...isoStorage,
        volumes: [...(isoStorage.volumes ?? []), { name: 'iso/others.iso', node, size: '1G' }],
      },
      [storage]: {
        ...storages[storage],
        volumes: [disk('vm-150-disk-0'), disk('base-9001-disk-0')],
      },
    },
    vms: {
      ...file.vms,
      150: { ...stranger(150, node, storage, {}), running: true },
      9001: stranger(9001, node, storage, { template: 1, scsi0: `${storage}:base-9001-disk-0,size=1G` }),
    },
  };
}

const HOST = inhabited(BARE_WORLD, 'vmhost', 'tank');
const CLUSTER = inhabited(BARE_CLUSTER_WORLD, 'pve1', 'local-lvm');

type WorldMaker = (options: { readonly now: Instant }) => World;

export const hostWorld: WorldMaker = ({ now }) => buildWorld(HOST, { now, file: 'inhabited host' });
export const clusterWorld: WorldMaker = ({ now }) => buildWorld(CLUSTER, { now, file: 'inhabited cluster' });

/** The same host, installed from an older release. */
export const olderHost =
  (version: string): WorldMaker =>
  ({ now }) =>
    buildWorld({ ...HOST, version }, { now, file: `host with ${version}` });
