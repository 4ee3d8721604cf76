/**
 * A download into a temporary file on a node: the response of the outside world, the transfer itself, and everything
 * that can end it.
 */
import { createHash } from 'node:crypto';
import type { DownloadFault, OutsideAnswer, Runtime } from '../../core/runtime.ts';
import type { Task } from '../../core/tasks.ts';
import type { RemoteFile, Storage, World } from '../../world/world.ts';
import { availableBytes } from '../space.ts';
import {
  averageRate,
  CommandOutput,
  connectingLine,
  type DownloadSource,
  lengthLine,
  progressRow,
  ROW_BYTES,
} from './wget.ts';

/** Rule [assumed]: the line to the outside world, when the storage is not slower. */
const NETWORK_BYTES_PER_SECOND = 100_000_000;
export const CONNECT_MS = 60;
/** Rule [assumed]: as wget 1.21 does it: twenty tries, with a wait of one second more after each, up to ten. */
const TRIES = 20;
const LONGEST_WAIT_SECONDS = 10;
const EXIT_DISK = 3;
const EXIT_NETWORK = 4;
const EXIT_STATUS = 8;

interface DownloadInput {
  readonly node: string;
  readonly storage: Storage;
  readonly url: string;
  readonly temporary: string;
  readonly task: Task;
}

interface Line {
  readonly bytesPerSecond: number;
  /** Where it breaks, and in which attempts. */
  readonly cutAtBytes: number | undefined;
  readonly cutTries: number;
  readonly stall: { readonly atBytes: number; readonly forMs: number } | undefined;
}

/** What has arrived: the file, or other bytes instead. */
interface Downloaded {
  readonly remote: RemoteFile;
  readonly isGenuine: boolean;
}

export async function download(runtime: Runtime, input: DownloadInput): Promise<Downloaded> {
  const { task, node, storage, url } = input;
  const output = new CommandOutput('download failed', (line) => task.log(line));
  const path = `/nodes/${node}/storage/${storage.id}/download-url`;
  const fault = runtime.downloadFault?.({ method: 'POST', path });
  const answer = faultyAnswer(await lookUp(runtime, url), fault);
  const remote = await connect(runtime, input, output, answer);
  const line: Line = {
    bytesPerSecond: Math.min(NETWORK_BYTES_PER_SECOND, storage.bandwidthBytesPerSecond),
    ...breakOf(remote, fault),
    stall: fault?.kind === 'stall' ? { atBytes: share(remote, fault.percent), forMs: fault.forMs } : undefined,
  };
  let doneBytes = 0;
  for (let attempt = 1; ; attempt++) {
    if (attempt > 1) await reconnect(runtime, input, output, attempt, remote, doneBytes);
    const result = await receive(runtime, input, output, { remote, line, attempt, fromBytes: doneBytes });
    doneBytes = result.doneBytes;
    if (doneBytes >= remote.sizeBytes) {
      const rate = averageRate(result.bytesPerSecond);
      output.line(`${stamp(runtime)} (${rate}) - '${input.temporary}' saved [${remote.sizeBytes}/${remote.sizeBytes}]`);
      output.line('');
      return { remote, isGenuine: fault?.kind !== 'content' };
    }
    const verdict = attempt === TRIES ? 'Giving up.' : 'Retrying.';
    const rate = averageRate(result.bytesPerSecond);
    output.line(`${stamp(runtime)} (${rate}) - Connection closed at byte ${doneBytes}. ${verdict}`);
    output.line('');
    if (attempt === TRIES) throw output.failure(EXIT_NETWORK);
    await pause(task, output, Math.min(attempt, LONGEST_WAIT_SECONDS) * 1000);
  }
}

function faultyAnswer(answer: OutsideAnswer, fault: DownloadFault | undefined): OutsideAnswer {
  if (fault?.kind === 'unresolvable' || fault?.kind === 'refused') return { kind: fault.kind };
  return fault?.kind === 'status' ? { kind: 'status', status: fault.status } : answer;
}

function breakOf(remote: RemoteFile, fault: DownloadFault | undefined): Pick<Line, 'cutAtBytes' | 'cutTries'> {
  if (fault?.kind === 'cut') return { cutAtBytes: share(remote, fault.percent), cutTries: TRIES };
  if (fault?.kind === 'cut-once') return { cutAtBytes: share(remote, fault.percent), cutTries: 1 };
  if (remote.trouble === 'cut') return { cutAtBytes: share(remote, 50), cutTries: TRIES };
  return { cutAtBytes: undefined, cutTries: 0 };
}

const share = (remote: RemoteFile, percent: number) => Math.floor((remote.sizeBytes * percent) / 100);

async function connect(
  runtime: Runtime,
  { task, url, temporary }: DownloadInput,
  output: CommandOutput,
  answer: OutsideAnswer,
): Promise<RemoteFile> {
  const source = sourceOf(url);
  output.line(`--${stamp(runtime)}--  ${url}`);
  await pause(task, output, CONNECT_MS);
  if (answer.kind === 'unresolvable') {
    output.line(`Resolving ${source.host} (${source.host})... failed: Name or service not known.`);
    output.line(`wget: unable to resolve host address '${source.host}'`);
    throw output.failure(EXIT_NETWORK);
  }
  if (source.address !== undefined) output.line(`Resolving ${source.host} (${source.host})... ${source.address}`);
  if (answer.kind === 'refused') {
    output.line(connectingLine(source, 'failed: Connection refused.'));
    throw output.failure(EXIT_NETWORK);
  }
  output.line(connectingLine(source, 'connected.'));
  if (answer.kind === 'status') {
    output.line(`HTTP request sent, awaiting response... ${answer.status} ${reasonOf(answer.status)}`);
    output.line(`${stamp(runtime)} ERROR ${answer.status}: ${reasonOf(answer.status)}.`);
    output.line('');
    throw output.failure(EXIT_STATUS);
  }
  announce(output, '200 OK', answer.remote, 0, temporary);
  return answer.remote;
}

async function reconnect(
  runtime: Runtime,
  { task, url, temporary }: DownloadInput,
  output: CommandOutput,
  attempt: number,
  remote: RemoteFile,
  doneBytes: number,
): Promise<void> {
  output.line(`--${stamp(runtime)}--  (try:${String(attempt).padStart(2)})  ${url}`);
  await pause(task, output, CONNECT_MS);
  output.line(connectingLine(sourceOf(url), 'connected.'));
  announce(output, doneBytes > 0 ? '206 Partial Content' : '200 OK', remote, doneBytes, temporary);
  if (doneBytes < ROW_BYTES) return;
  const skipped = String((Math.floor(doneBytes / ROW_BYTES) * ROW_BYTES) / 1024);
  output.line(`${' '.repeat(Math.max(6, skipped.length) + 2)}[ skipping ${skipped}K ]`);
}

function announce(
  output: CommandOutput,
  status: string,
  remote: RemoteFile,
  doneBytes: number,
  temporary: string,
): void {
  output.line(`HTTP request sent, awaiting response... ${status}`);
  output.line(lengthLine(remote.sizeBytes, doneBytes, remote.mimetype));
  output.line(`Saving to: '${temporary}'`);
  output.line('');
}

interface Attempt {
  readonly remote: RemoteFile;
  readonly line: Line;
  readonly attempt: number;
  readonly fromBytes: number;
}

/** One connection, row by row, until the file is complete, the connection breaks or the disk is full. */
async function receive(
  runtime: Runtime,
  { node, storage, task, temporary }: DownloadInput,
  output: CommandOutput,
  { remote, line, attempt, fromBytes }: Attempt,
): Promise<{ readonly doneBytes: number; readonly bytesPerSecond: number }> {
  const { sizeBytes } = remote;
  const isCut = line.cutAtBytes !== undefined && attempt <= line.cutTries;
  const endBytes = isCut ? Math.max(fromBytes, line.cutAtBytes ?? 0) : sizeBytes;
  const startedAt = runtime.clock.now();
  let doneBytes = fromBytes;
  for (;;) {
    const rowStart = Math.floor(doneBytes / ROW_BYTES) * ROW_BYTES;
    const rowEnd = Math.min(rowStart + ROW_BYTES, endBytes);
    const { stall } = line;
    const stallMs = stall && attempt === 1 && stall.atBytes >= doneBytes && stall.atBytes < rowEnd ? stall.forMs : 0;
    const rowMs = ((rowEnd - doneBytes) / line.bytesPerSecond) * 1000 + stallMs;
    await pause(task, output, rowMs);
    const roomBytes = availableBytes(runtime.world, storage, node);
    const isFull = rowEnd > roomBytes;
    const toBytes = isFull ? Math.max(doneBytes, roomBytes) : rowEnd;
    // A file that ends with a row is followed by an empty one.
    const isLast = isFull || rowEnd < rowStart + ROW_BYTES;
    const tookSeconds = (runtime.clock.now() - startedAt) / 1000;
    const bytesPerSecond = rowMs === 0 ? 0 : ((toBytes - doneBytes) * 1000) / rowMs;
    const row = { fromBytes: rowStart, toBytes, skippedBytes: fromBytes, sizeBytes, bytesPerSecond };
    output.line(progressRow({ ...row, tookSeconds: isLast ? tookSeconds : undefined }));
    doneBytes = toBytes;
    if (!isLast) continue;
    output.line('');
    if (isFull) {
      output.line('');
      output.line(`Cannot write to '${temporary}' (No space left on device).`);
      throw output.failure(EXIT_DISK);
    }
    return { doneBytes, bytesPerSecond: tookSeconds === 0 ? 0 : (doneBytes - fromBytes) / tookSeconds };
  }
}

async function pause(task: Task, output: CommandOutput, ms: number): Promise<void> {
  try {
    await task.sleep(ms);
  } catch (error) {
    throw task.signal.aborted ? output.interrupted() : error;
  }
}

function stamp({ clock }: Runtime): string {
  return new Date(clock.now()).toISOString().slice(0, 19).replace('T', ' ');
}

/** What a node can download: what this machine really serves, if allowed, else what the world lists. */
export async function lookUp(runtime: Runtime, url: string): Promise<OutsideAnswer> {
  return (await runtime.fetchOutside?.(url)) ?? listedAnswer(runtime.world, url);
}

/** Rule [assumed]: hosts that serve something answer 404 for the rest; bare addresses refuse; other names do not exist. */
function listedAnswer(world: World, url: string): OutsideAnswer {
  const remote = world.downloads.get(url);
  if (remote?.trouble === 'refused' || remote?.trouble === 'unresolvable') return { kind: remote.trouble };
  if (remote) return remote.status === 200 ? { kind: 'file', remote } : { kind: 'status', status: remote.status };
  const { host, port, address } = sourceOf(url);
  for (const [known, { trouble }] of world.downloads) {
    const other = sourceOf(known);
    if (other.host === host && other.port === port && trouble === undefined) return { kind: 'status', status: 404 };
  }
  return address === undefined || host === 'localhost' ? { kind: 'refused' } : { kind: 'unresolvable' };
}

export function sourceOf(url: string): DownloadSource {
  const match = /^(https?):\/\/(?:[^/@]*@)?(\[[^\]]*\]|[^:/?#]*)(?::(\d+))?/.exec(url);
  const host = match?.[2] ?? '';
  const isAddress = /^[\d.]+$/.test(host) || host.startsWith('[');
  return {
    host,
    port: match?.[3] ?? (match?.[1] === 'https' ? '443' : '80'),
    address: isAddress ? undefined : host === 'localhost' ? '127.0.0.1' : addressFor(host),
  };
}

/** Rule [assumed]: every host has one address, from the range that is meant for examples. */
function addressFor(host: string): string {
  const [octet = 0] = createHash('sha256').update(host).digest();
  return `203.0.113.${(octet % 254) + 1}`;
}

export function reasonOf(status: number): string {
  return REASONS[status] ?? 'Unknown';
}

const REASONS: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  410: 'Gone',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
};
