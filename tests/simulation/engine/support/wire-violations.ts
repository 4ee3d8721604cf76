/**
 * Promises that show on the wire alone: configuration writes, moves and resizes carry the digest of the read they rest on, and no
 * VM is started whose configuration was not read back after the last write to it and found to be what the stack wants.
 */
import type { WireRequest, WireResponse } from '../../../../src/base/transport.ts';
import { lineOf } from '../../../../src/rehearse/trial/mortal-process.ts';

/** A request of a run, with its answer where one came. */
export interface Exchange {
  readonly request: WireRequest;
  answer: WireResponse | undefined;
}

/** What a stack wants and the answer to `…/pending` does not have, in words. */
export type Unmet = (vmid: number, answer: string) => readonly string[];

const WRITE = /^(?:PUT|POST) \/nodes\/[^/]+\/qemu\/(\d+)\/(?:config|resize|move_disk)$/;
const READ = /^GET \/nodes\/[^/]+\/qemu\/(\d+)\/pending$/;
const SWITCH = /^POST \/nodes\/[^/]+\/qemu\/(\d+)\/status\/(\w+)$/;

interface Seen {
  /** The last answer since the last write. */
  read: string | undefined;
  /**
   * From the first switch on, reads do not count any more: what another client changes while a VM shuts down, or while its
   * start waits for a lock, is theirs, and no client can see it in time.
   */
  isSwitched: boolean;
}

/** Of the exchanges of one run. */
export function wireViolationsIn(exchanges: readonly Exchange[], unmet: Unmet): string[] {
  const found: string[] = [];
  const seen = new Map<string, Seen>();
  const of = (vmid: string) => {
    const known = seen.get(vmid) ?? { read: undefined, isSwitched: false };
    seen.set(vmid, known);
    return known;
  };
  for (const { request, answer } of exchanges) {
    const line = lineOf(request);
    const written = WRITE.exec(line)?.[1];
    const read = READ.exec(line)?.[1];
    const [, switched, verb] = SWITCH.exec(line) ?? [];
    if (written !== undefined) {
      seen.set(written, { read: undefined, isSwitched: false });
      if (!/(^|&)digest=/.test(String(request.body ?? ''))) found.push(`${line} without a digest`);
    }
    if (read !== undefined && answer?.status === 200 && !of(read).isSwitched) of(read).read = answer.body;
    if (switched === undefined) continue;
    if (verb === 'start') found.push(...wrongStart(line, switched, of(switched), unmet));
    of(switched).isSwitched = true;
  }
  return found;
}

function wrongStart(line: string, vmid: string, { read }: Seen, unmet: Unmet): string[] {
  if (read === undefined) return [`${line} without reading it back`];
  return unmet(Number(vmid), read).map((each) => `${line} though it was not as desired: ${each}`);
}
