/** `/nodes/{node}/storage/{storage}/content`: volumes. */
import { z } from 'zod';
import type { CallOptions } from '../../../exchange.ts';
import { apiPath, volumePath } from '../../../path.ts';
import type { Upid } from '../../../wire/upid.ts';
import { flag, maybe, numeric, text, upidShape } from '../../shapes.ts';
import type { StorageScope } from './scope.ts';

const volumeSchema = z.looseObject({
  volid: z.string(),
  content: maybe(z.string()),
  format: maybe(z.string()),
  /** Bytes; some storages know only `approximate-size`. */
  size: maybe(numeric),
  'approximate-size': maybe(numeric),
  used: maybe(numeric),
  vmid: maybe(numeric),
  parent: maybe(text),
  ctime: maybe(numeric),
  protected: maybe(flag),
});
const volumesSchema = z.array(volumeSchema);
export type VolumeEntry = z.output<typeof volumeSchema>;

export class StorageContent {
  readonly #scope: StorageScope;

  constructor(scope: StorageScope) {
    this.#scope = scope;
  }

  /** Shows only what the caller may see: an empty list does not prove an empty storage. */
  list(
    filter: { readonly content?: string | undefined; readonly vmid?: number | undefined } = {},
    options?: CallOptions,
  ): Promise<VolumeEntry[]> {
    return this.#scope.api.get(this.#path(), volumesSchema, { ...filter }, options);
  }

  /** Answers with the id of the new volume. */
  allocate(
    params: {
      readonly vmid: number;
      readonly filename: string;
      readonly size: string;
      readonly format?: 'raw' | 'qcow2' | 'vmdk' | undefined;
    },
    options?: CallOptions,
  ): Promise<string> {
    return this.#scope.api.post(this.#path(), z.string(), { ...params }, options);
  }

  /** `undefined` when it was over before the answer. A volume that is not there starts a task too, which then fails. */
  delete(
    volumeId: string,
    params: { readonly delay?: number | undefined } = {},
    options?: CallOptions,
  ): Promise<Upid | undefined> {
    return this.#scope.api.delete(volumePath(this.#path(), volumeId), maybe(upidShape), { ...params }, options);
  }

  #path() {
    return apiPath`/nodes/${this.#scope.node}/storage/${this.#scope.storage}/content`;
  }
}
