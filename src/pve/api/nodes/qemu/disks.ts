/** What is done to disks by calls of their own: `/resize`, `/move_disk`, `/unlink`. */
import type { CallOptions } from '../../../exchange.ts';
import type { Upid } from '../../../wire/upid.ts';
import { anything } from '../../shapes.ts';
import { type VmScope, vmPath } from './scope.ts';

export interface ResizeParams {
  /** The slot, such as `scsi0`. */
  readonly disk: string;
  /** Absolute (`32G`): saying it twice is harmless, which `+8G` is not. */
  readonly size: string;
  readonly digest?: string | undefined;
}

export interface MoveDiskParams {
  readonly disk: string;
  readonly storage?: string | undefined;
  readonly format?: 'raw' | 'qcow2' | 'vmdk' | undefined;
  /** Removes the source; otherwise it stays as an unused disk. */
  readonly delete?: boolean | undefined;
  readonly digest?: string | undefined;
  readonly 'target-vmid'?: number | undefined;
  readonly 'target-disk'?: string | undefined;
}

/** A wrong disk, a smaller size or a stale digest show only when the task has ended. */
export function resizeDisk(scope: VmScope, params: ResizeParams, options?: CallOptions): Promise<Upid> {
  return scope.api.dispatch({ method: 'PUT', path: vmPath(scope, '/resize'), params: { ...params } }, options);
}

export function moveDisk(scope: VmScope, params: MoveDiskParams, options?: CallOptions): Promise<Upid> {
  return scope.api.dispatch({ method: 'POST', path: vmPath(scope, '/move_disk'), params: { ...params } }, options);
}

/** Detaches disks; with `force` their volumes are destroyed. */
export function unlinkDisks(
  scope: VmScope,
  params: { readonly idlist: readonly string[]; readonly force?: boolean | undefined },
  options?: CallOptions,
): Promise<void> {
  return scope.api.put(vmPath(scope, '/unlink'), anything, { ...params, idlist: params.idlist.join(',') }, options);
}
