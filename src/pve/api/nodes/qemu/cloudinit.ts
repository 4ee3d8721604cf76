/** `/nodes/{node}/qemu/{vmid}/cloudinit`: the generated drive. */
import { z } from 'zod';
import type { CallOptions } from '../../../exchange.ts';
import { anything } from '../../shapes.ts';
import { type VmScope, vmPath } from './scope.ts';

export class VmCloudinit {
  readonly #scope: VmScope;

  constructor(scope: VmScope) {
    this.#scope = scope;
  }

  /** Writes the drive anew from the configuration; every start does so too. */
  regenerate(options?: CallOptions): Promise<void> {
    return this.#scope.api.put(vmPath(this.#scope, '/cloudinit'), anything, {}, options);
  }

  dump(type: 'user' | 'network' | 'meta', options?: CallOptions): Promise<string> {
    return this.#scope.api.get(vmPath(this.#scope, '/cloudinit/dump'), z.string(), { type }, options);
  }
}
