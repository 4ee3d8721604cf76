/** `/cluster/ha/resources`: which guests are kept running by the HA manager. */
import { z } from 'zod';
import type { CallOptions } from '../../exchange.ts';
import { apiPath } from '../../path.ts';
import type { Api } from '../../request.ts';
import { anything, flag, maybe, numeric, text } from '../shapes.ts';

const resourceSchema = z.looseObject({
  /** `vm:101`. */
  sid: z.string(),
  state: maybe(z.string()),
  group: maybe(text),
  max_restart: maybe(numeric),
  max_relocate: maybe(numeric),
  failback: maybe(flag),
  comment: maybe(text),
  digest: maybe(z.string()),
});
const resourcesSchema = z.array(resourceSchema);
export type HaResource = z.output<typeof resourceSchema>;

export interface HaResourceParams {
  readonly state?: 'started' | 'stopped' | 'disabled' | 'ignored' | undefined;
  readonly max_restart?: number | undefined;
  readonly max_relocate?: number | undefined;
  readonly failback?: boolean | undefined;
  /** Only before PVE 9, where rules took the place of groups. */
  readonly group?: string | undefined;
  readonly comment?: string | undefined;
}

export class HaResources {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(options?: CallOptions): Promise<HaResource[]> {
    return this.#api.get(apiPath`/cluster/ha/resources`, resourcesSchema, { type: 'vm' }, options);
  }

  create(vmid: number, params: HaResourceParams = {}, options?: CallOptions): Promise<void> {
    return this.#api.post(apiPath`/cluster/ha/resources`, anything, { sid: `vm:${vmid}`, ...params }, options);
  }

  update(
    vmid: number,
    params: HaResourceParams & { readonly digest?: string | undefined },
    options?: CallOptions,
  ): Promise<void> {
    return this.#api.put(apiPath`/cluster/ha/resources/${`vm:${vmid}`}`, anything, { ...params }, options);
  }

  delete(vmid: number, options?: CallOptions): Promise<void> {
    return this.#api.delete(apiPath`/cluster/ha/resources/${`vm:${vmid}`}`, anything, {}, options);
  }
}
