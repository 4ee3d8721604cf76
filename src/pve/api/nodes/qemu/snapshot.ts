/** `/nodes/{node}/qemu/{vmid}/snapshot`: the snapshots of a VM. */
import { z } from 'zod';
import type { CallOptions } from '../../../exchange.ts';
import { apiPath } from '../../../path.ts';
import type { Upid } from '../../../wire/ids.ts';
import { flag, maybe, numeric, text } from '../../shapes.ts';
import { type VmScope, vmPath } from './scope.ts';

const snapshotsSchema = z.lazy(() =>
  z.array(
    z.looseObject({
      /** `current` stands for the VM itself. */
      name: z.string(),
      description: maybe(text),
      parent: maybe(text),
      /** Seconds since 1970. */
      snaptime: maybe(numeric),
      /** It holds the memory too. */
      vmstate: maybe(flag),
      /** `prepare` or `delete`, while a task works on it or after one that was interrupted. */
      snapstate: maybe(text),
    }),
  ),
);
export type SnapshotEntry = z.output<typeof snapshotsSchema>[number];

export class VmSnapshots {
  readonly #scope: VmScope;

  constructor(scope: VmScope) {
    this.#scope = scope;
  }

  list(options?: CallOptions): Promise<SnapshotEntry[]> {
    return this.#scope.api.get(vmPath(this.#scope, '/snapshot'), snapshotsSchema, {}, options);
  }

  create(
    params: {
      readonly snapname: string;
      readonly description?: string | undefined;
      readonly vmstate?: boolean | undefined;
    },
    options?: CallOptions,
  ): Promise<Upid> {
    return this.#scope.api.dispatch(
      { method: 'POST', path: vmPath(this.#scope, '/snapshot'), params: { ...params } },
      options,
    );
  }

  delete(
    snapname: string,
    params: { readonly force?: boolean | undefined } = {},
    options?: CallOptions,
  ): Promise<Upid> {
    return this.#scope.api.dispatch({ method: 'DELETE', path: this.#path(snapname), params: { ...params } }, options);
  }

  rollback(
    snapname: string,
    params: { readonly start?: boolean | undefined } = {},
    options?: CallOptions,
  ): Promise<Upid> {
    const base = this.#path(snapname);
    const path = { encoded: `${base.encoded}/rollback`, shown: `${base.shown}/rollback` };
    return this.#scope.api.dispatch({ method: 'POST', path, params: { ...params } }, options);
  }

  #path(snapname: string) {
    return apiPath`/nodes/${this.#scope.node}/qemu/${this.#scope.vmid}/snapshot/${snapname}`;
  }
}
