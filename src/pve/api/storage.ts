/** `/storage`: the storage configuration of the whole cluster. */
import { z } from 'zod';
import type { CallOptions } from '../exchange.ts';
import { apiPath } from '../path.ts';
import type { Api } from '../request.ts';
import { commaList, flag, maybe } from './shapes.ts';

const storageSchema = z.lazy(() =>
  z.looseObject({
    storage: z.string(),
    type: z.string(),
    content: maybe(commaList),
    /** Absent: on every node. */
    nodes: maybe(commaList),
    shared: maybe(flag),
    disable: maybe(flag),
  }),
);
const storagesSchema = z.lazy(() => z.array(storageSchema));
export type StorageDefinition = z.output<typeof storageSchema>;

export class StorageDefinitions {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(options?: CallOptions): Promise<StorageDefinition[]> {
    return this.#api.get(apiPath`/storage`, storagesSchema, {}, options);
  }

  get(storage: string, options?: CallOptions): Promise<StorageDefinition> {
    return this.#api.get(apiPath`/storage/${storage}`, storageSchema, {}, options);
  }
}
