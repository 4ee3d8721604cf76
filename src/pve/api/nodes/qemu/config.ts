/** `/nodes/{node}/qemu/{vmid}/config` and `/pending`. */
import { z } from 'zod';
import type { CallOptions } from '../../../exchange.ts';
import { decodeConfig, type VmConfig } from '../../../wire/config.ts';
import type { FormParams } from '../../../wire/form.ts';
import type { Upid } from '../../../wire/upid.ts';
import { anything, maybe, numeric, text, upidShape } from '../../shapes.ts';
import { type VmScope, vmPath } from './scope.ts';

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const configSchema = z.record(z.string(), scalar).transform((raw): VmConfig => decodeConfig(raw));

const pendingSchema = z.array(
  z.looseObject({
    key: z.string(),
    /** In effect now. */
    value: maybe(text),
    /** Will be in effect after a stop and start. */
    pending: maybe(text),
    /** 1: to be deleted; 2: to be deleted together with its volume. */
    delete: maybe(numeric),
  }),
);
export type PendingEntry = z.output<typeof pendingSchema>[number];

/** Configuration keys, and beside them `digest`, `delete`, `revert`, `force`. */
export type ConfigChange = FormParams;

export class VmConfigHandle {
  readonly #scope: VmScope;

  constructor(scope: VmScope) {
    this.#scope = scope;
  }

  /** With pending values merged in; `current` shows those in effect instead, `snapshot` those of a snapshot. */
  get(
    view: { readonly current?: boolean | undefined; readonly snapshot?: string | undefined } = {},
    options?: CallOptions,
  ): Promise<VmConfig> {
    return this.#scope.api.get(vmPath(this.#scope, '/config'), configSchema, { ...view }, options);
  }

  /** Applies at once and answers when done, but within the 30 s after which the server's proxy gives up waiting. */
  put(change: ConfigChange, options?: CallOptions): Promise<void> {
    return this.#scope.api.put(vmPath(this.#scope, '/config'), anything, change, options);
  }

  /** As a task, for whatever touches drives. `undefined` when a `background_delay` sufficed for it to finish. */
  post(change: ConfigChange, options?: CallOptions): Promise<Upid | undefined> {
    return this.#scope.api.post(vmPath(this.#scope, '/config'), maybe(upidShape), change, options);
  }

  pending(options?: CallOptions): Promise<PendingEntry[]> {
    return this.#scope.api.get(vmPath(this.#scope, '/pending'), pendingSchema, {}, options);
  }
}
