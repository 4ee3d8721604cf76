/** The cluster as the page shows it: nodes with memory and storages, the VMs of the stack on them, and other guests. */

import type { Pve } from '../../pve/index.ts';
import { readRecorded } from '../../state/recorded.ts';
import type { ClusterView, GuestView, NodeView } from '../../ui/server/source.ts';
import type { OpenedStack } from '../stack/open.ts';

export async function readCluster(opened: OpenedStack, pve: Pve): Promise<ClusterView> {
  try {
    const { version } = await pve.authenticate();
    const rows = await pve.cluster.resources();
    const { state } = await readRecorded(opened.store, opened.stack.name);
    const ours = new Map(Object.entries(state.vms).map(([address, { vmid }]) => [vmid, address]));
    const ofNode = (node: string, type: string) => rows.filter((row) => row.type === type && row.node === node);
    const nodes = rows
      .filter((row) => row.type === 'node' && row.node !== undefined)
      .map((row): NodeView => {
        const node = row.node ?? '';
        return {
          node,
          isOnline: row.status === 'online',
          cpus: row.maxcpu,
          memory: row.maxmem === undefined ? undefined : { usedBytes: row.mem ?? 0, totalBytes: row.maxmem },
          storages: ofNode(node, 'storage').flatMap(({ storage, disk, maxdisk, shared }) =>
            storage === undefined || !Number(maxdisk)
              ? []
              : [
                  {
                    storage,
                    usedBytes: Number(disk ?? 0),
                    totalBytes: Number(maxdisk),
                    isShared: Number(shared ?? 0) === 1,
                  },
                ],
          ),
          guests: [...ofNode(node, 'qemu'), ...ofNode(node, 'lxc')]
            .map(({ vmid = 0, name, status, mem, maxmem, template }): GuestView => {
              const address = ours.get(vmid);
              return {
                vmid,
                name: name ?? String(vmid),
                status: status ?? 'unknown',
                memoryBytes: maxmem ?? 0,
                ...(status === 'running' && mem !== undefined && { usedMemoryBytes: mem }),
                isTemplate: template === true,
                ...(address !== undefined && { address }),
              };
            })
            .toSorted((a, b) => a.vmid - b.vmid),
        };
      })
      .toSorted((a, b) => a.node.localeCompare(b.node));
    return { endpoint: pve.endpoint, version, nodes };
  } finally {
    await pve.close();
  }
}
