/** Sizes for people who compare: `814 GiB` says more than 833584MiB. */
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** At most one digit after the point, and none where it would be 0. */
export function roughSize(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const number = Math.round((bytes / 1024 ** power) * 10) / 10;
  return `${number} ${UNITS[power]}`;
}
