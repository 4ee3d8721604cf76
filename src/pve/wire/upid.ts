/**
 * UPIDs, the names of tasks: `UPID:<node>:<pid>:<pstart>:<starttime>:<type>:<id>:<user>:`, numbers in hexadecimal.
 * Mirrors encode and decode of pve-common, src/PVE/UPID.pm.
 */
import { invariant } from '../../base/assert.ts';
import { type Brand, isNodeName, type NodeName } from './ids.ts';
import { percentEncode } from './percent.ts';

export type Upid = Brand<string, 'Upid'>;

export interface UpidParts {
  readonly node: NodeName;
  readonly pid: number;
  /** Start of the process in clock ticks since boot; nine digits after about 497 days of uptime. */
  readonly processStartTicks: number;
  readonly startTimeSeconds: number;
  readonly type: string;
  /** The VM id for VM tasks; for `qmclone` that of the SOURCE. May be empty. */
  readonly id: string;
  /** User or token id, such as `root@pam!ci`. */
  readonly user: string;
}

const UPID = /^UPID:([^:\s/]+):([0-9A-F]{8}):([0-9A-F]{8,9}):([0-9A-F]{8}):([^:\s/]+):([^:\s/]*):([^:\s/]+):$/i;

export function parseUpid(text: string): UpidParts | undefined {
  const match = UPID.exec(text);
  if (!match || !text.startsWith('UPID:')) return undefined;
  const [, node = '', pid = '', processStart = '', startTime = '', type = '', id = '', user = ''] = match;
  if (!isNodeName(node)) return undefined;
  return {
    node,
    pid: Number.parseInt(pid, 16),
    processStartTicks: Number.parseInt(processStart, 16),
    startTimeSeconds: Number.parseInt(startTime, 16),
    type,
    id,
    user,
  };
}

export function isUpid(text: unknown): text is Upid {
  return typeof text === 'string' && parseUpid(text) !== undefined;
}

export function printUpid(parts: UpidParts): Upid {
  const numbers = [parts.pid, parts.processStartTicks, parts.startTimeSeconds].map(hexadecimal);
  const text = `UPID:${parts.node}:${numbers.join(':')}:${parts.type}:${parts.id}:${parts.user}:`;
  invariant(isUpid(text), `${text} is not a UPID.`);
  return text;
}

/** A UPID as a component of a path; ids may hold `>` or `%`. */
export function encodeUpid(upid: Upid): string {
  return percentEncode(upid);
}

function hexadecimal(value: number): string {
  return value.toString(16).toUpperCase().padStart(8, '0');
}
