/** The cluster of the engine's tests as older releases of Proxmox VE would run it. */
import type { Instant } from '../../../../src/base/clock.ts';
import { isSince } from '../../../../src/base/values/release.ts';
import { buildWorld, type World, type WorldFile } from '../../../../src/simulator/index.ts';
import { LAB_WORLD } from '../../engine/support/lab-world.ts';

/** The oldest and the newest of 8, and those between in which something a client meets has changed. */
export const OLD_RELEASES = ['8.0', '8.2', '8.3', '8.4'] as const;

/** What a release cannot hold is left out. */
export function worldFileOf(version: string, file: WorldFile = LAB_WORLD): WorldFile {
  if (isSince(version, '8.3')) return { ...file, version };
  const storages = Object.entries(file.storages ?? {}).map(([id, storage]) => [
    id,
    {
      ...storage,
      content: storage.content?.filter((content) => content !== 'import'),
      volumes: storage.volumes?.filter(({ name }) => !name.startsWith('import/')),
    },
  ]);
  return { ...file, version, storages: Object.fromEntries(storages) };
}

export const worldOf =
  (version: string, file?: WorldFile) =>
  ({ now }: { readonly now: Instant }): World =>
    buildWorld(worldFileOf(version, file), { now, file: version });
