/** Files in a storage: their names, which names Proxmox accepts, and which side unpacks them. Pure. */
import type { ImageFields } from './fields.ts';

/** Disk images to import from, and CD images. */
export type ImageContent = 'import' | 'iso';

const COMPRESSIONS = ['gz', 'xz', 'zst', 'bz2', 'lzo'] as const;
export type Compression = (typeof COMPRESSIONS)[number];

/** Formats that Proxmox unpacks, and only for CD images (pve-storage Storage.pm decompressor_info). */
const UNPACKED_BY_SERVER = ['gz', 'lzo', 'zst', 'bz2'] as const;
export type ServerCompression = (typeof UNPACKED_BY_SERVER)[number];

/** Extensions of import images are case-sensitive, those of CD images are not (pve-storage Storage.pm). */
const ACCEPTED: Readonly<Record<ImageContent, RegExp>> = {
  import: /^[a-zA-Z0-9_.-]+\.(ova|qcow2|raw|vmdk)$/,
  iso: /^[a-zA-Z0-9_.-]+\.(iso|img)$/i,
};

export function imageVolid(storage: string, content: ImageContent, file: string): string {
  return `${storage}:${content}/${file}`;
}

/** The parts of a volume name that Proxwright chose. */
export function placeOfVolume(volid: string): { storage: string; content: ImageContent; file: string } {
  const [, storage = '', content, file = ''] = /^([^:]+):(import|iso)\/(.+)$/.exec(volid) ?? [];
  return { storage, content: content === 'iso' ? 'iso' : 'import', file };
}

/** The limit for file names on common file systems. */
export const MOST_CHARACTERS = 255;

export function isAcceptableName(content: ImageContent, file: string): boolean {
  return ACCEPTED[content].test(file) && file.length <= MOST_CHARACTERS;
}

/**
 * The nearest accepted name: the file's own if possible, else without path, unusual characters and the extension of a
 * compression, because the storage holds the unpacked file. `.img` says nothing about the format. For import it becomes
 * `.qcow2`, which is right for Ubuntu's images: Proxmox inspects a `.qcow2` and refuses other formats, whereas it accepts
 * anything as `.raw`. Undefined if no extension fits.
 */
export function acceptableName(content: ImageContent, file: string): string | undefined {
  const bare = withoutCompression(file.replace(/^.*[/\\]/s, '').replace(/[^a-zA-Z0-9_.-]/g, '_'));
  const renamed =
    content === 'iso'
      ? bare
      : bare.replace(/\.img$/i, '.qcow2').replace(/\.(ova|qcow2|raw|vmdk)$/i, (ending) => ending.toLowerCase());
  return isAcceptableName(content, renamed) ? renamed : undefined;
}

/** By the extension of a file name, or of the path of a URL. */
export function compressionOf(fileOrUrl: string): Compression | undefined {
  const ending = /\.([a-z0-9]+)(?:[?#].*)?$/i.exec(fileOrUrl)?.[1]?.toLowerCase();
  return COMPRESSIONS.find((compression) => compression === ending);
}

/** Whether Proxmox unpacks it while downloading; otherwise Proxwright unpacks it, and has to upload it. */
export function isUnpackedByServer(content: ImageContent, compression: Compression): compression is ServerCompression {
  return content === 'iso' && UNPACKED_BY_SERVER.some((each) => each === compression);
}

function withoutCompression(file: string): string {
  const compression = compressionOf(file);
  return compression === undefined ? file : file.slice(0, -(compression.length + 1));
}

type Source = Pick<ImageFields, 'url' | 'path' | 'file' | 'compression'>;

/** How the source is packed: as the stack says, or by the extension of its name. */
export function imageCompression(source: Source): Compression | undefined {
  if (source.compression !== undefined) return source.compression === 'none' ? undefined : source.compression;
  return compressionOf(sourceName(source));
}

/** Name in the storage; empty if neither the stack nor the source gives one. Does not check whether Proxmox accepts it. */
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
