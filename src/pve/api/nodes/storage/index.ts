/** `/nodes/{node}/storage`: the storages as a node sees them, and what one of them holds. */
import { z } from 'zod';
import type { CallOptions } from '../../../exchange.ts';
import { apiPath } from '../../../path.ts';
import type { Api } from '../../../request.ts';
import type { Upid } from '../../../wire/upid.ts';
import { commaList, flag, maybe, numeric } from '../../shapes.ts';
import { StorageContent } from './content.ts';
import type { StorageScope } from './scope.ts';
import { type DownloadUrlParams, downloadUrl, type UploadParams, upload } from './transfer.ts';

const statusShape = {
  type: z.string(),
  content: commaList,
  enabled: maybe(flag),
  active: maybe(flag),
  shared: maybe(flag),
  /** Bytes; 0 while the storage is not active. */
  total: maybe(numeric),
  used: maybe(numeric),
  avail: maybe(numeric),
};
const statusSchema = z.looseObject(statusShape);
const entrySchema = z.looseObject({
  storage: z.string(),
  ...statusShape,
  formats: maybe(z.looseObject({ supported: maybe(z.array(z.string())), default: maybe(z.string()) })),
});
const entriesSchema = z.array(entrySchema);
export type StorageStatus = z.output<typeof statusSchema>;
export type NodeStorageEntry = z.output<typeof entrySchema>;

export interface StorageFilter {
  readonly content?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly storage?: string | undefined;
  /** Adds `formats`. */
  readonly format?: boolean | undefined;
}

/** The server asks every storage of the node for each of these, so one that hangs delays them all. */
export class NodeStorages {
  readonly #api: Api;
  readonly #node: string;

  constructor(api: Api, node: string) {
    this.#api = api;
    this.#node = node;
  }

  list(filter: StorageFilter = {}, options?: CallOptions): Promise<NodeStorageEntry[]> {
    return this.#api.get(apiPath`/nodes/${this.#node}/storage`, entriesSchema, { ...filter }, options);
  }
}

export class NodeStorage {
  readonly content: StorageContent;
  readonly #scope: StorageScope;

  constructor(scope: StorageScope) {
    this.#scope = scope;
    this.content = new StorageContent(scope);
  }

  status(options?: CallOptions): Promise<StorageStatus> {
    const { api, node, storage } = this.#scope;
    return api.get(apiPath`/nodes/${node}/storage/${storage}/status`, statusSchema, {}, options);
  }

  downloadUrl(params: DownloadUrlParams, options?: CallOptions): Promise<Upid> {
    return downloadUrl(this.#scope, params, options);
  }

  upload(params: UploadParams, options?: CallOptions): Promise<Upid> {
    return upload(this.#scope, params, options);
  }
}
