/**
 * Promises that show on the wire alone: configuration writes and resizes carry the digest of the read they rest on, and no
 * VM is started that was not read back after the last write to it.
 */
import type { WireRequest } from '../../../../src/base/transport.ts';

/** Method and path without query: `POST /nodes/pve1/qemu/9000/clone`. */
export function lineOf({ method, target }: WireRequest): string {
  return `${method} ${decodeURIComponent(target.replace('/api2/json', '').replace(/\?.*/, ''))}`;
}

const WRITE = /^(?:PUT|POST) \/nodes\/[^/]+\/qemu\/(\d+)\/(?:config|resize)$/;
const READ = /^GET \/nodes\/[^/]+\/qemu\/(\d+)\/pending$/;
const START = /^POST \/nodes\/[^/]+\/qemu\/(\d+)\/status\/start$/;

/** Of the requests of one run. */
export function carelessnessIn(requests: readonly WireRequest[]): string[] {
  const found: string[] = [];
  const isRead = new Map<string, boolean>();
  for (const request of requests) {
    const line = lineOf(request);
    const written = WRITE.exec(line)?.[1];
    const read = READ.exec(line)?.[1];
    const started = START.exec(line)?.[1];
    if (written !== undefined) {
      isRead.set(written, false);
      if (!/(^|&)digest=/.test(String(request.body ?? ''))) found.push(`${line} without a digest`);
    }
    if (read !== undefined) isRead.set(read, true);
    if (started !== undefined && isRead.get(started) !== true) found.push(`${line} without reading it back`);
  }
  return found;
}
