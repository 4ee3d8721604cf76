/** The space that a replaced VM leaves to the VM in its place, which is created after the old disks are gone. Pure. */
import type { DestroyedVolume } from '../../../change.ts';
import type { Findings } from '../../../kind.ts';

type Needed = Findings['neededBytes'];

/** Takes what the old VM frees off what the new one needs on the same storage of the node; `before` is without the new VM. */
export function reuseRoom(needed: Needed, before: Needed, node: string, destroys: readonly DestroyedVolume[]): void {
  for (const { volume, sizeBytes = 0 } of destroys) {
    const key = `${node}/${volume.split(':')[0]}`;
    const all = needed.get(key);
    if (!all) continue;
    const others = before.get(key)?.bytes ?? 0;
    const bytes = Math.max(others, all.bytes - sizeBytes);
    if (bytes > 0) needed.set(key, { ...all, bytes });
    else needed.delete(key);
  }
}
