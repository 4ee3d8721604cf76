/** Sizes and durations as people write them, and counts for messages. Bare numbers are rejected: 30 could mean seconds or minutes. */

const SIZE_UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
  // The short forms of Proxmox are binary too.
  K: 1024,
  M: 1024 ** 2,
  G: 1024 ** 3,
  T: 1024 ** 4,
};

const DURATION_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `8GiB`, `128G` (= GiB), `1.5TiB` → bytes; undefined if the text is not a size. */
export function parseByteSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([A-Za-z]+)$/.exec(text.trim());
  const factor = SIZE_UNITS[match?.[2] ?? ''];
  if (!match || factor === undefined) return undefined;
  const bytes = Number(match[1]) * factor;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** The largest unit that gives a whole number: `8GiB`, `1536MiB`. */
export function printByteSize(bytes: number): string {
  for (const unit of ['TiB', 'GiB', 'MiB', 'KiB'] as const) {
    const factor = SIZE_UNITS[unit] ?? 1;
    if (bytes >= factor && bytes % factor === 0) return `${bytes / factor}${unit}`;
  }
  return `${bytes}B`;
}

/** `30s`, `5m`, `1h30m`, `250ms` → milliseconds; undefined if the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  const trimmed = text.trim();
  if (!/^(\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(trimmed)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    totalMs += Number(amount) * (DURATION_UNITS[unit ?? ''] ?? 0);
  }
  return totalMs;
}

/** For people: `1h 2m`, `3m 5s`, `14.2s`, `250ms`. */
export function printDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)}s`;
  const seconds = Math.round(ms / 1000);
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60];
  return hours > 0 ? `${hours}h ${minutes}m` : `${minutes}m ${rest}s`;
}

/** `1 VM`, `2 VMs`; `several` is the plural if it is irregular. */
export function counted(number: number | bigint, one: string, several = `${one}s`): string {
  return `${number} ${inNumber(number, one, several)}`;
}

/** The word alone: `is` or `are`. */
export function inNumber(number: number | bigint, one: string, several: string): string {
  return Number(number) === 1 ? one : several;
}

/** A wait and its bound: `clone, up to 30m 0s`. */
export function upTo(what: string, ms: number): string {
  return `${what}, up to ${printDuration(ms)}`;
}
