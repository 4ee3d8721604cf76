/** `/cluster/mapping`: named devices, the only way for a token to pass hardware through. */
import { z } from 'zod';
import type { CallOptions } from '../../exchange.ts';
import { apiPath } from '../../path.ts';
import type { Api } from '../../request.ts';
import { anything, maybe, text } from '../shapes.ts';

const mappingSchema = z.looseObject({
  id: z.string(),
  description: maybe(text),
  /** Property strings such as `node=pve1,path=0000:01:00.0,id=10de:2204`. */
  map: z.array(z.string()),
  /** Of all mappings of this kind together. */
  digest: maybe(text),
  /** Only when asked with a node to check. */
  checks: maybe(z.array(z.looseObject({ severity: z.string(), message: z.string() }))),
});
const mappingsSchema = z.array(mappingSchema);
export type DeviceMapping = z.output<typeof mappingSchema>;

export class Mappings {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Proxmox lets a VM name a mapping that does not exist, so whoever relies on one looks here first. */
  pci(params: { readonly 'check-node'?: string | undefined } = {}, options?: CallOptions): Promise<DeviceMapping[]> {
    return this.#api.get(apiPath`/cluster/mapping/pci`, mappingsSchema, { ...params }, options);
  }

  usb(params: { readonly 'check-node'?: string | undefined } = {}, options?: CallOptions): Promise<DeviceMapping[]> {
    return this.#api.get(apiPath`/cluster/mapping/usb`, mappingsSchema, { ...params }, options);
  }

  createPci(
    params: {
      readonly id: string;
      readonly map: readonly string[];
      readonly description?: string | undefined;
      /** Whether the devices provide mediated devices. */
      readonly mdev?: boolean | undefined;
    },
    options?: CallOptions,
  ): Promise<void> {
    return this.#api.post(apiPath`/cluster/mapping/pci`, anything, { ...params }, options);
  }

  /** `map` replaces all entries; what else is not given stays. */
  updatePci(
    id: string,
    params: { readonly map: readonly string[]; readonly digest?: string | undefined },
    options?: CallOptions,
  ): Promise<void> {
    return this.#api.put(apiPath`/cluster/mapping/pci/${id}`, anything, { ...params }, options);
  }

  deletePci(id: string, options?: CallOptions): Promise<void> {
    return this.#api.delete(apiPath`/cluster/mapping/pci/${id}`, anything, {}, options);
  }
}
