/** `/nodes/{node}/qemu/{vmid}/status`: the power state of a VM. Each change of it starts a task. */
import { z } from 'zod';
import type { CallOptions } from '../../../exchange.ts';
import type { FormParams } from '../../../wire/encoding.ts';
import type { Upid } from '../../../wire/ids.ts';
import { flag, maybe, numeric, text, vmidShape } from '../../shapes.ts';
import { type VmScope, vmPath } from './scope.ts';

const currentSchema = z.lazy(() =>
  z.looseObject({
    vmid: vmidShape,
    status: z.enum(['running', 'stopped']),
    /** Finer than `status`: paused, prelaunch, io-error and others. */
    qmpstatus: maybe(z.string()),
    name: maybe(text),
    template: maybe(flag),
    lock: maybe(z.string()),
    tags: maybe(text),
    uptime: maybe(numeric),
    agent: maybe(flag),
    maxmem: maybe(numeric),
    cpus: maybe(numeric),
    ha: maybe(z.looseObject({ managed: maybe(flag), state: maybe(z.string()) })),
  }),
);
export type VmStatus = z.output<typeof currentSchema>;

export class VmStatusHandle {
  readonly #scope: VmScope;

  constructor(scope: VmScope) {
    this.#scope = scope;
  }

  current(options?: CallOptions): Promise<VmStatus> {
    return this.#scope.api.get(vmPath(this.#scope, '/status/current'), currentSchema, {}, options);
  }

  /** If the VM is running, the task fails with `ALREADY_RUNNING`. */
  start(params: { readonly timeout?: number | undefined } = {}, options?: CallOptions): Promise<Upid> {
    return this.#switch('start', { ...params }, options);
  }

  /** Stops the VM immediately. Succeeds if it is already stopped. */
  stop(
    params: { readonly timeout?: number | undefined; readonly 'overrule-shutdown'?: boolean | undefined } = {},
    options?: CallOptions,
  ): Promise<Upid> {
    return this.#switch('stop', { ...params }, options);
  }

  /** Asks the guest to shut down; `forceStop` stops it if it has not after `timeout` seconds. */
  shutdown(
    params: { readonly timeout?: number | undefined; readonly forceStop?: boolean | undefined } = {},
    options?: CallOptions,
  ): Promise<Upid> {
    return this.#switch('shutdown', { ...params }, options);
  }

  /** The task ends when the guest is down; the guest starts again a moment later. */
  reboot(params: { readonly timeout?: number | undefined } = {}, options?: CallOptions): Promise<Upid> {
    return this.#switch('reboot', { ...params }, options);
  }

  reset(options?: CallOptions): Promise<Upid> {
    return this.#switch('reset', {}, options);
  }

  resume(options?: CallOptions): Promise<Upid> {
    return this.#switch('resume', {}, options);
  }

  suspend(params: { readonly todisk?: boolean | undefined } = {}, options?: CallOptions): Promise<Upid> {
    return this.#switch('suspend', { ...params }, options);
  }

  #switch(verb: string, params: FormParams, options?: CallOptions): Promise<Upid> {
    return this.#scope.api.dispatch({ method: 'POST', path: vmPath(this.#scope, `/status/${verb}`), params }, options);
  }
}
