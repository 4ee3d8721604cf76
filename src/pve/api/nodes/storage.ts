/** `/nodes/{node}/storage`: the storages of a node, the volumes of one of them, and transfers of files into it. */

import { z } from 'zod';
import type { Random } from '../../../base/random.ts';
import type { StreamBody } from '../../../base/transport.ts';
import type { CallOptions } from '../../exchange.ts';
import { encodeMultipart } from '../../multipart.ts';
import { apiPath, volumePath } from '../../path.ts';
import type { Api } from '../../request.ts';
import type { Upid } from '../../wire/ids.ts';
import { commaList, flag, maybe, numeric, text, upidShape } from '../shapes.ts';

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
const statusSchema = z.lazy(() => z.looseObject(statusShape));
const entrySchema = z.lazy(() =>
  z.looseObject({
    storage: z.string(),
    ...statusShape,
    formats: maybe(z.looseObject({ supported: maybe(z.array(z.string())), default: maybe(z.string()) })),
  }),
);
const entriesSchema = z.lazy(() => z.array(entrySchema));
export type StorageStatus = z.output<typeof statusSchema>;
export type NodeStorageEntry = z.output<typeof entrySchema>;

export interface StorageFilter {
  readonly content?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly storage?: string | undefined;
  /** Adds `formats`. */
  readonly format?: boolean | undefined;
}

/** For each call the server queries every storage of the node, so one that hangs delays them all. */
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

export type ChecksumAlgorithm = 'md5' | 'sha1' | 'sha224' | 'sha256' | 'sha384' | 'sha512';

export interface DownloadUrlParams {
  readonly url: string;
  readonly content: 'iso' | 'vztmpl' | 'import';
  readonly filename: string;
  /** With a checksum, an existing file that matches counts as success; without one, Proxmox rejects the request. */
  readonly checksum?: string | undefined;
  readonly 'checksum-algorithm'?: ChecksumAlgorithm | undefined;
  readonly compression?: string | undefined;
  readonly 'verify-certificates'?: boolean | undefined;
}

export interface UploadParams {
  readonly content: 'iso' | 'vztmpl' | 'import';
  readonly filename: string;
  readonly bytes: Uint8Array | StreamBody;
  readonly checksum?: { readonly algorithm: ChecksumAlgorithm; readonly value: string } | undefined;
}

/** Uploads of images take longer than the timeout of ordinary calls. */
const UPLOAD_TIMEOUT_MS = 30 * 60_000;

/** Identifies the storage that a handle is about. */
export interface StorageScope {
  readonly api: Api;
  readonly random: Random;
  readonly node: string;
  readonly storage: string;
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

  /** The node downloads the file. */
  downloadUrl(params: DownloadUrlParams, options?: CallOptions): Promise<Upid> {
    const { api, node, storage } = this.#scope;
    const path = apiPath`/nodes/${node}/storage/${storage}/download-url`;
    return api.dispatch({ method: 'POST', path, params: { ...params } }, options);
  }

  /** Overwrites an existing file of that name. */
  upload(params: UploadParams, options?: CallOptions): Promise<Upid> {
    const { api, random, node, storage } = this.#scope;
    // The server reads the parts in sequence and rejects any other order.
    const fields: [string, string][] = [['content', params.content]];
    if (params.checksum) {
      fields.push(['checksum-algorithm', params.checksum.algorithm], ['checksum', params.checksum.value]);
    }
    const body = encodeMultipart(random, fields, { name: params.filename, bytes: params.bytes });
    const path = apiPath`/nodes/${node}/storage/${storage}/upload`;
    return api.dispatch({ method: 'POST', path, body }, { timeoutMs: UPLOAD_TIMEOUT_MS, ...options });
  }
}

const volumeSchema = z.lazy(() =>
  z.looseObject({
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
  }),
);
const volumesSchema = z.lazy(() => z.array(volumeSchema));
export type VolumeEntry = z.output<typeof volumeSchema>;

/** `/nodes/{node}/storage/{storage}/content`: volumes. */
export class StorageContent {
  readonly #scope: StorageScope;

  constructor(scope: StorageScope) {
    this.#scope = scope;
  }

  /** Shows only volumes that the caller may see: an empty list does not prove that the storage is empty. */
  list(
    filter: { readonly content?: string | undefined; readonly vmid?: number | undefined } = {},
    options?: CallOptions,
  ): Promise<VolumeEntry[]> {
    return this.#scope.api.get(this.#path(), volumesSchema, { ...filter }, options);
  }

  /** Returns the id of the new volume. */
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

  /** `undefined` if Proxmox finished before it responded. For a missing volume it starts a task that fails. */
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
