/** What a request is about: the VM, storage or node that a fault then strikes. */
import type { Runtime } from '../core/runtime.ts';
import type { Vm } from '../world/world.ts';
import type { RequestInfo } from './faults.ts';

export function nodeOf(runtime: Runtime, info: RequestInfo): string {
  const node = /^\/nodes\/([^/]+)/.exec(info.path)?.[1];
  return node !== undefined && runtime.world.nodes.has(node) ? node : runtime.world.entryNode;
}

/** The VM in the path, or the one a POST is about to create. */
export function vmidOf(info: RequestInfo): number | undefined {
  const inPath = /^\/nodes\/[^/]+\/qemu\/(\d+)/.exec(info.path)?.[1];
  if (inPath !== undefined) return Number(inPath);
  return createdId(info);
}

/** The id that the request would take: of a clone or a new VM. */
export function createdId(info: RequestInfo): number | undefined {
  if (info.method !== 'POST') return undefined;
  const text = info.path.endsWith('/clone') ? info.params.newid : info.path.endsWith('/qemu') ? info.params.vmid : null;
  const id = Number(text ?? Number.NaN);
  return Number.isSafeInteger(id) ? id : undefined;
}

export function existingVm(runtime: Runtime, info: RequestInfo): Vm | undefined {
  const vmid = vmidOf(info);
  return vmid === undefined ? undefined : runtime.world.vms.get(vmid);
}

/** The storage in the path or among the parameters. */
export function storageOf(info: RequestInfo): string | undefined {
  const inPath = /^\/nodes\/[^/]+\/storage\/([^/]+)/.exec(info.path)?.[1];
  return inPath ?? (typeof info.params.storage === 'string' ? info.params.storage : undefined);
}
