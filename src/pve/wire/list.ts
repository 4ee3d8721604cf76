/** Lists in one text: the server splits on commas, semicolons and blanks alike (split_list in pve-common). */

export function splitList(text: string): string[] {
  const separator = text.includes('\0') ? /\0/ : /[,;\s]+/;
  return text.split(separator).filter((item) => item !== '');
}

/** Order by code units, as Perl's `sort` does; `localeCompare` would depend on the machine. */
export function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
