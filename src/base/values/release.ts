/** Release numbers of Proxmox VE: parsing and comparing. */

/** `9.2` or `9.2.5`. */
export type ReleaseNumber = `${number}.${number}` | `${number}.${number}.${number}`;

/** Negative if the first is older. Missing parts count as 0; a pre-release such as `9.0.0~11` counts as `9.0.0`. */
export function compareReleases(first: string, second: string): number {
  const [a, b] = [numbersOf(first), numbersOf(second)];
  return a.map((number, place) => number - (b[place] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

export function isSince(version: string, release: ReleaseNumber): boolean {
  return compareReleases(version, release) >= 0;
}

/** `9.2` of `9.2.11`. */
export function minorRelease(version: string): string {
  return numbersOf(version).slice(0, 2).join('.');
}

function numbersOf(version: string): readonly number[] {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10) || 0);
  return [major, minor, patch];
}
