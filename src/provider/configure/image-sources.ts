/**
 * The door to local files and downloads, one for all resources of the process: the same image for several nodes is fetched
 * and unpacked once. Whoever is last to need it clears away what was unpacked.
 */
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { createImageSources } from '../../local/image-sources.ts';
import type { Environment } from '../../pve/index.ts';
import type { Surroundings } from '../surroundings.ts';

export interface ImageSourcesPlace {
  readonly clock: Clock;
  readonly environment: Environment;
  /** Where relative paths begin. */
  readonly directory: string;
  readonly endpoint: string;
}

export function sharedImageSources(place: ImageSourcesPlace): Surroundings['withImageSources'] {
  const sources = createImageSources({
    clock: place.clock,
    cacheDirectory: cacheDirectory(place),
    baseDirectory: place.directory,
  });
  let users = 0;
  return async (work) => {
    users++;
    try {
      return await work(sources.source);
    } finally {
      users--;
      if (users === 0) await sources.close();
    }
  };
}

/** A configuration is applied by one process at a time, and two of them must not share a cache. */
function cacheDirectory({ environment, directory, endpoint }: ImageSourcesPlace): string {
  const { XDG_CACHE_HOME, HOME } = environment;
  const caches = XDG_CACHE_HOME || (HOME ? join(HOME, '.cache') : tmpdir());
  const own = createHash('sha256')
    .update(`${resolve(directory)} ${endpoint}`)
    .digest('hex')
    .slice(0, 16);
  return join(caches, 'proxwright', `terraform-${own}`);
}
