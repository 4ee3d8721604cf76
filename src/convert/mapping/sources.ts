/** Every resource of another provider that is known here. */
import { BPG_VM, BPG_VM2 } from './bpg.ts';
import { BPG_IMAGE } from './images.ts';
import type { SourceResource } from './rows.ts';
import { TELMATE_VM } from './telmate.ts';

export const SOURCES: readonly SourceResource[] = [BPG_VM, BPG_VM2, TELMATE_VM, BPG_IMAGE];

const BY_TYPE: ReadonlyMap<string, SourceResource> = new Map(
  SOURCES.flatMap((source) => source.types.map((type) => [type, source] as const)),
);

export function sourceOf(type: string): SourceResource | undefined {
  return BY_TYPE.get(type);
}
