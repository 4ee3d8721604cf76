/**
 * Access to local files and downloads, shared by all resources of the process: an image for several nodes is downloaded
 * and unpacked once. The last user removes what was unpacked.
 */
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { createImageSources } from '../../local/image-sources.ts';
import type { Environment } from '../../pve/index.ts';
import type { Deps } from '../adapter/deps.ts';

export interface ImageSourcesPlace {
  readonly clock: Clock;
  readonly environment: Environment;
  /** Relative paths start here. */
  readonly directory: string;
  readonly endpoint: string;
}

export function sharedImageSources(place: ImageSourcesPlace): Deps['withSources'] {
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

/** One process at a time applies a configuration. Two configurations must not share a cache. */
function cacheDirectory({ environment, directory, endpoint }: ImageSourcesPlace): string {
  const { XDG_CACHE_HOME, HOME } = environment;
  const caches = XDG_CACHE_HOME || (HOME ? join(HOME, '.cache') : tmpdir());
  const own = createHash('sha256')
    .update(`${resolve(directory)} ${endpoint}`)
    .digest('hex')
    .slice(0, 16);
  return join(caches, 'proxwright', `terraform-${own}`);
}
