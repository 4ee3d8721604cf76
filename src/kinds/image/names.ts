/** What an image is called in its storage, and how its source is packed, where its fields do not say it themselves. */

import type { ImageFields } from './fields.ts';
import { type Compression, compressionOf } from './file.ts';

type Source = Pick<ImageFields, 'url' | 'path' | 'file' | 'compression'>;

/** How the source is packed, by what the file says or else by the ending of its name. */
export function imageCompression(source: Source): Compression | undefined {
  if (source.compression !== undefined) return source.compression === 'none' ? undefined : source.compression;
  return compressionOf(sourceName(source));
}

/** Name in the storage; empty where neither the file nor the source gives one. Whether Proxmox takes it is not asked. */
export function imageFileName(source: Source): string {
  if (source.file !== undefined) return source.file;
  const name = sourceName(source);
  const ending = imageCompression(source) === undefined ? undefined : compressionOf(name);
  const unpacked = ending === undefined ? name : name.slice(0, -(ending.length + 1));
  // Proxmox does the same to a name that it is given (PVE::Storage::normalize_content_filename).
  return unpacked.replace(/[^A-Za-z0-9_.-]/g, '_').replace(/^[.-]+/, '');
}

/** The last part of a url or path. */
function sourceName({ url, path }: Source): string {
  const whole = url === undefined ? (path ?? '') : urlPath(url);
  return whole.split(/[/\\]/).at(-1) ?? '';
}

function urlPath(url: string): string {
  try {
    return decodeURIComponent(new URL(url).pathname);
  } catch {
    // A stray % is no reason to refuse an address.
    return url.replace(/[?#].*$/s, '');
  }
}
