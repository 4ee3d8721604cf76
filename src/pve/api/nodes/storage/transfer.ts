/** Files coming into a storage: `/download-url`, where Proxmox fetches, and `/upload`, where we send. */
import type { StreamBody } from '../../../../base/transport.ts';
import type { CallOptions } from '../../../exchange.ts';
import { encodeMultipart } from '../../../multipart.ts';
import { apiPath } from '../../../path.ts';
import type { Upid } from '../../../wire/upid.ts';
import type { StorageScope } from './scope.ts';

export type ChecksumAlgorithm = 'md5' | 'sha1' | 'sha224' | 'sha256' | 'sha384' | 'sha512';

export interface DownloadUrlParams {
  readonly url: string;
  readonly content: 'iso' | 'vztmpl' | 'import';
  readonly filename: string;
  /** With it, a file that is there already and matches is a success; without it, it is refused. */
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

/** Images are large and lines slow; the time-out of ordinary calls would end most uploads. */
const UPLOAD_TIMEOUT_MS = 30 * 60_000;

export function downloadUrl(scope: StorageScope, params: DownloadUrlParams, options?: CallOptions): Promise<Upid> {
  const path = apiPath`/nodes/${scope.node}/storage/${scope.storage}/download-url`;
  return scope.api.dispatch({ method: 'POST', path, params: { ...params } }, options);
}

/** Overwrites a file of that name without asking. */
export function upload(scope: StorageScope, params: UploadParams, options?: CallOptions): Promise<Upid> {
  const path = apiPath`/nodes/${scope.node}/storage/${scope.storage}/upload`;
  // The server reads the parts as they come and refuses them in any other order.
  const fields: [string, string][] = [['content', params.content]];
  if (params.checksum) {
    fields.push(['checksum-algorithm', params.checksum.algorithm], ['checksum', params.checksum.value]);
  }
  const body = encodeMultipart(scope.random, fields, { name: params.filename, bytes: params.bytes });
  return scope.api.dispatch({ method: 'POST', path, body }, { timeoutMs: UPLOAD_TIMEOUT_MS, ...options });
}
