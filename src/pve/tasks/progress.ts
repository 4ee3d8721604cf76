/** How far a task has come, as far as its log tells. */
import type { Upid } from '../wire/upid.ts';

export interface TaskProgress {
  readonly upid: Upid;
  readonly elapsedMs: number;
  /** Lines that are new since the last report. */
  readonly lines: readonly string[];
  /** Of the copy in hand, from 0 to 1; a clone with several disks counts up once for each. */
  readonly fraction?: number;
}

const COPIED = /\btransferred [\d.]+ ?\S+ of [\d.]+ ?\S+ \((\d+(?:\.\d+)?)%\)/;
const FETCHED = /^\s*\d+[KM][ ,.]+ (\d{1,3})%/;

/**
 * The last of the lines that carries a percentage: `transferred 12.3 MiB of 1.0 GiB (1.20%)` of a copy, or the dots of
 * wget, as a download shows them: ` 32768K ........ ........ ........ ........ 12% 95.1M 6s`.
 */
export function fractionIn(lines: readonly string[]): number | undefined {
  for (const line of [...lines].reverse()) {
    const percent = (COPIED.exec(line) ?? FETCHED.exec(line))?.[1];
    if (percent !== undefined) return Math.min(1, Number(percent) / 100);
  }
  return undefined;
}
