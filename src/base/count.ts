/** Numbers with their nouns and verbs, for messages: `1 VM is`, `2 VMs are`. */

/** `1 VM`, `2 VMs`; `several` where an s is not enough. */
export function counted(number: number | bigint, one: string, several = `${one}s`): string {
  return `${number} ${inNumber(number, one, several)}`;
}

/** The word alone: `is` or `are`. */
export function inNumber(number: number | bigint, one: string, several: string): string {
  return Number(number) === 1 ? one : several;
}
