/** `/pools`. Pool names may contain slashes, so they are parameters and never part of the path. */
import { z } from 'zod';
import { hasCode } from '../../base/errors.ts';
import type { CallOptions } from '../exchange.ts';
import { apiPath } from '../path.ts';
import type { Api } from '../request.ts';
import { anything, maybe, numeric, text } from './shapes.ts';

const poolShape = () =>
  z.looseObject({
    poolid: z.string(),
    comment: maybe(text),
    /** Present only when the request names one pool. */
    members: maybe(
      z.array(z.looseObject({ id: z.string(), type: z.string(), vmid: maybe(numeric), storage: maybe(z.string()) })),
    ),
  });
const poolSchema = z.lazy(poolShape);
const namelessPoolSchema = z.lazy(() => poolShape().extend({ poolid: maybe(z.string()) }));
const poolsSchema = z.lazy(() => z.array(poolSchema));
export type Pool = z.output<typeof poolSchema>;

export class Pools {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(options?: CallOptions): Promise<Pool[]> {
    return this.#api.get(apiPath`/pools`, poolsSchema, {}, options);
  }

  /**
   * With its members. An unknown pool fails with `NOT_FOUND`. Proxmox VE 8.0 has no nested pools, takes the name in the
   * path only, and requires Pool.Audit.
   */
  async get(poolid: string, options?: CallOptions): Promise<Pool | undefined> {
    try {
      return (await this.#api.get(apiPath`/pools`, poolsSchema, { poolid }, options))[0];
    } catch (error) {
      if (!hasCode(error, 'PARAMETER_REJECTED')) throw error;
      const pool = await this.#api.get(apiPath`/pools/${poolid}`, namelessPoolSchema, {}, options);
      return { ...pool, poolid };
    }
  }

  create(
    params: { readonly poolid: string; readonly comment?: string | undefined },
    options?: CallOptions,
  ): Promise<void> {
    return this.#api.post(apiPath`/pools`, anything, { ...params }, options);
  }

  addVms(poolid: string, vmids: readonly number[], options?: CallOptions): Promise<void> {
    return this.#api.put(apiPath`/pools`, anything, { poolid, vms: vmids.join(',') }, options);
  }

  removeVms(poolid: string, vmids: readonly number[], options?: CallOptions): Promise<void> {
    return this.#api.put(apiPath`/pools`, anything, { poolid, vms: vmids.join(','), delete: true }, options);
  }

  delete(poolid: string, options?: CallOptions): Promise<void> {
    return this.#api.delete(apiPath`/pools`, anything, { poolid }, options);
  }
}
