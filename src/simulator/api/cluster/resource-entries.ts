/** Entries of /cluster/resources, which /pools shows as well: what is live, and what comes from the broadcast statistics. */
import type { Runtime } from '../../core/runtime.ts';
import { knownStatistics, type Statistics } from '../../core/statistics.ts';
import type { SimNode, Storage, Vm } from '../../world/world.ts';

export type ResourceEntry = Record<string, unknown>;

/** The statistics of all nodes as one worker knows them, read at most once per node and request. */
export class ResourceView {
  readonly #runtime: Runtime;
  readonly #byNode = new Map<string, ReadonlyMap<string, Statistics>>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Rule [recorded resources-new-vm]: a VM no broadcast has mentioned is `unknown` and has no name. */
  vm(vm: Vm): ResourceEntry {
    const id = `qemu/${vm.vmid}`;
    return { id, vmid: vm.vmid, node: vm.node, type: 'qemu', status: 'unknown', ...this.#statistics(vm.node, id) };
  }

  storage(storage: Storage, node: string): ResourceEntry {
    const id = `storage/${node}/${storage.id}`;
    const known = this.#statistics(node, id);
    return {
      id,
      storage: storage.id,
      node,
      type: 'storage',
      plugintype: storage.type,
      status: known ? 'available' : 'unknown',
      shared: storage.shared ? 1 : 0,
      content: [...storage.content].join(','),
      ...known,
    };
  }

  /** Rule [recorded perm-token-sees-nothing]: without Sys.Audit only the bare node. */
  node(node: SimNode, withStatistics: boolean): ResourceEntry {
    const id = `node/${node.name}`;
    const known = this.#statistics(node.name, id);
    const status = node.online ? (known ? 'online' : 'unknown') : 'offline';
    return { id, node: node.name, type: 'node', status, level: '', ...(withStatistics ? known : {}) };
  }

  #statistics(node: string, id: string): Statistics | undefined {
    const known = this.#byNode.get(node) ?? knownStatistics(this.#runtime, node);
    this.#byNode.set(node, known);
    return known.get(id);
  }
}
