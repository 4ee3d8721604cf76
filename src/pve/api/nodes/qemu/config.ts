/** `/nodes/{node}/qemu/{vmid}/config`, `/pending` and `/cloudinit`: the configuration of a VM and the drive generated from it. */

import { z } from 'zod';
import type { CallOptions } from '../../../exchange.ts';
import { decodeConfig, type VmConfig } from '../../../wire/config-keys.ts';
import type { FormParams } from '../../../wire/encoding.ts';
import type { Upid } from '../../../wire/ids.ts';
import { anything, maybe, numeric, text, upidShape } from '../../shapes.ts';
import { type VmScope, vmPath } from './scope.ts';

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const configSchema = z.lazy(() => z.record(z.string(), scalar).transform((raw): VmConfig => decodeConfig(raw)));

const pendingSchema = z.lazy(() =>
  z.array(
    z.looseObject({
      key: z.string(),
      /** In effect. */
      value: maybe(text),
      /** Takes effect after a stop and start. */
      pending: maybe(text),
      /** 1: to be deleted; 2: to be deleted together with its volume. */
      delete: maybe(numeric),
    }),
  ),
);
export type PendingEntry = z.output<typeof pendingSchema>[number];

/** Configuration keys plus `digest`, `delete`, `revert`, `force`. */
export type ConfigChange = FormParams;

export class VmConfigHandle {
  readonly #scope: VmScope;

  constructor(scope: VmScope) {
    this.#scope = scope;
  }

  /** Includes pending values. `current` returns the values in effect instead, `snapshot` those of a snapshot. */
  get(
    view: { readonly current?: boolean | undefined; readonly snapshot?: string | undefined } = {},
    options?: CallOptions,
  ): Promise<VmConfig> {
    return this.#scope.api.get(vmPath(this.#scope, '/config'), configSchema, { ...view }, options);
  }

  /** Responds when the change is done. The server's proxy gives up after 30 s. */
  put(change: ConfigChange, options?: CallOptions): Promise<void> {
    return this.#scope.api.put(vmPath(this.#scope, '/config'), anything, change, options);
  }

  /** Runs as a task: for changes to drives. `undefined` if it finished within `background_delay`. */
  post(change: ConfigChange, options?: CallOptions): Promise<Upid | undefined> {
    return this.#scope.api.post(vmPath(this.#scope, '/config'), maybe(upidShape), change, options);
  }

  pending(options?: CallOptions): Promise<PendingEntry[]> {
    return this.#scope.api.get(vmPath(this.#scope, '/pending'), pendingSchema, {}, options);
  }
}

/** The cloud-init drive. */
export class VmCloudinit {
  readonly #scope: VmScope;

  constructor(scope: VmScope) {
    this.#scope = scope;
  }

  /** Rewrites the drive from the configuration, as every start does. */
  regenerate(options?: CallOptions): Promise<void> {
    return this.#scope.api.put(vmPath(this.#scope, '/cloudinit'), anything, {}, options);
  }

  dump(type: 'user' | 'network' | 'meta', options?: CallOptions): Promise<string> {
    return this.#scope.api.get(vmPath(this.#scope, '/cloudinit/dump'), z.string(), { type }, options);
  }
}
