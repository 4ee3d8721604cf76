/**
 * wget as Proxmox calls it (`--progress=dot:giga`): the lines it prints, and how they reach the log of a task. The
 * texts were observed with wget 1.21 of Debian 12 in the C locale, for successful downloads and for every failure here;
 * a node has a newer wget.
 */
import { dieFault } from '../../http/response.ts';

/** Rule [assumed]: as wget 1.21 does it: a dot is 1 MiB, a row 32 dots in groups of 8. */
const DOT_BYTES = 1024 ** 2;
const DOTS_IN_ROW = 32;
const DOTS_IN_GROUP = 8;
export const ROW_BYTES = DOT_BYTES * DOTS_IN_ROW;

/**
 * Rule [source PC Cmd.pm run]: with an `errmsg` every line waits for the next one, because the last is the error if the command
 * fails; empty lines are never shown, and an empty last line leaves only the exit code.
 */
export class CommandOutput {
  readonly #log: (line: string) => void;
  readonly #message: string;
  #last = '';

  constructor(message: string, log: (line: string) => void) {
    this.#message = message;
    this.#log = log;
  }

  line(text: string): void {
    if (this.#last !== '') this.#log(this.#last);
    this.#last = text;
  }

  /** The command has failed; the error to throw. */
  failure(exitCode: number): Error {
    const reason = this.#last === '' ? `exit code ${exitCode}` : this.#last;
    this.#last = '';
    return dieFault(`${this.#message}: ${reason}`);
  }

  /** Rule [source PC RESTEnvironment.pm fork_worker]: a worker that is stopped says so in these words, after the last line. */
  interrupted(): Error {
    this.line('');
    return dieFault(`${this.#message}: received interrupt`);
  }
}

export interface DownloadSource {
  readonly host: string;
  readonly port: string;
  /** Of a host that was given by name. */
  readonly address: string | undefined;
}

export function connectingLine({ host, port, address }: DownloadSource, outcome: string): string {
  const target = address === undefined ? `${host}:${port}` : `${host} (${host})|${address}|:${port}`;
  return `Connecting to ${target}... ${outcome}`;
}

export function lengthLine(sizeBytes: number, doneBytes: number, mimetype: string): string {
  const rest = doneBytes === 0 ? '' : `, ${sizeBytes - doneBytes}${inUnits(sizeBytes - doneBytes)} remaining`;
  return `Length: ${sizeBytes}${inUnits(sizeBytes)}${rest}${mimetype === '' ? '' : ` [${mimetype}]`}`;
}

/** Rule [assumed]: as wget 1.21 does it: one decimal below ten, none above, nothing at all below 1 KiB. */
function inUnits(bytes: number): string {
  let value = bytes;
  let unit = '';
  for (const next of ['K', 'M', 'G', 'T']) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return unit === '' ? '' : ` (${value.toFixed(value < 10 ? 1 : 0)}${unit})`;
}

export interface Row {
  /** Where it begins. */
  readonly fromBytes: number;
  /** How far it got: the end of the row, or of the file. */
  readonly toBytes: number;
  /** Received in earlier attempts: shown as commas. */
  readonly skippedBytes: number;
  readonly sizeBytes: number;
  readonly bytesPerSecond: number;
  /** Of the whole attempt, on its last row. */
  readonly tookSeconds: number | undefined;
}

/** Rule [assumed]: as wget 1.21 does it: ` 32768K ........ ........ ........ ........ 42%  410M 3s`; the last row has `=` and the time. */
export function progressRow(row: Row): string {
  let dots = '';
  const count = Math.floor((row.toBytes - row.fromBytes) / DOT_BYTES);
  const skipped = Math.floor((row.skippedBytes - row.fromBytes) / DOT_BYTES);
  for (let index = 0; index < DOTS_IN_ROW; index++) {
    if (index % DOTS_IN_GROUP === 0) dots += ' ';
    dots += index >= count ? ' ' : index < skipped ? ',' : '.';
  }
  const start = `${Math.floor(row.fromBytes / 1024)}K`.padStart(7);
  const percent = `${Math.floor((100 * row.toBytes) / row.sizeBytes)}%`.padStart(4);
  const seconds = Math.round((row.sizeBytes - row.toBytes) / Math.max(1, row.bytesPerSecond));
  const time = row.tookSeconds === undefined ? ` ${shortTime(seconds)}` : `=${decimals(row.tookSeconds)}s`;
  return `${start}${dots}${percent} ${rate(row.bytesPerSecond, [' ', 'K', 'M', 'G'], '').padStart(5)}${time}`;
}

/** `95.4 MB/s`. */
export function averageRate(bytesPerSecond: number): string {
  return rate(bytesPerSecond, ['B/s', 'KB/s', 'MB/s', 'GB/s'], ' ');
}

function rate(bytesPerSecond: number, units: readonly string[], gap: string): string {
  let value = bytesPerSecond;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)}${gap}${units[unit]}`;
}

function shortTime(seconds: number): string {
  if (seconds < 100) return `${seconds}s`;
  if (seconds < 100 * 60) return `${Math.floor(seconds / 60)}m${seconds % 60}s`;
  return `${Math.floor(seconds / 3600)}h${Math.floor(seconds / 60) % 60}m`;
}

function decimals(value: number): string {
  if (value >= 9.95) return value.toFixed(0);
  if (value >= 0.95) return value.toFixed(1);
  return value < 0.001 ? '0' : String(Number(value.toPrecision(1)));
}
