/** `/nodes/{node}/qemu/{vmid}/clone`, `/template` and `/migrate`: one VM becoming another, or elsewhere. */
import type { CallOptions } from '../../../exchange.ts';
import type { Upid } from '../../../wire/upid.ts';
import { type VmScope, vmPath } from './scope.ts';

export interface CloneParams {
  readonly newid: number;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly pool?: string | undefined;
  readonly snapname?: string | undefined;
  /** Only with a full clone; a linked one lives where its template does. */
  readonly storage?: string | undefined;
  readonly format?: 'raw' | 'qcow2' | 'vmdk' | undefined;
  /** The server's default is a linked clone for templates, and a full one for other VMs. */
  readonly full?: boolean | undefined;
  readonly target?: string | undefined;
  readonly bwlimit?: number | undefined;
}

export interface MigrateParams {
  readonly target: string;
  readonly online?: boolean | undefined;
  readonly 'with-local-disks'?: boolean | undefined;
  readonly targetstorage?: string | undefined;
  readonly bwlimit?: number | undefined;
}

/** The new id is ours only when this task has ended well: two clones to one id may both be let in. */
export function cloneVm(scope: VmScope, params: CloneParams, options?: CallOptions): Promise<Upid> {
  return scope.api.dispatch({ method: 'POST', path: vmPath(scope, '/clone'), params: { ...params } }, options);
}

export function convertToTemplate(scope: VmScope, options?: CallOptions): Promise<Upid> {
  return scope.api.dispatch({ method: 'POST', path: vmPath(scope, '/template') }, options);
}

export function migrateVm(scope: VmScope, params: MigrateParams, options?: CallOptions): Promise<Upid> {
  return scope.api.dispatch({ method: 'POST', path: vmPath(scope, '/migrate'), params: { ...params } }, options);
}
