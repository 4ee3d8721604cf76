/** Files in a storage: how they are called, which names Proxmox accepts, and who unpacks what. Pure. */
import type { ImageFields } from './fields.ts';

/** What a storage can hold of ours: disk images to import from, and CD images. */
export type ImageContent = 'import' | 'iso';

const COMPRESSIONS = ['gz', 'xz', 'zst', 'bz2', 'lzo'] as const;
export type Compression = (typeof COMPRESSIONS)[number];

/** What the server unpacks, and only for CD images (pve-storage Storage.pm decompressor_info). */
const UNPACKED_BY_SERVER = ['gz', 'lzo', 'zst', 'bz2'] as const;
export type ServerCompression = (typeof UNPACKED_BY_SERVER)[number];

/** Endings of import images are told apart by case, those of CD images are not (pve-storage Storage.pm). */
const ACCEPTED: Readonly<Record<ImageContent, RegExp>> = {
  import: /^[a-zA-Z0-9_.-]+\.(ova|qcow2|raw|vmdk)$/,
  iso: /^[a-zA-Z0-9_.-]+\.(iso|img)$/i,
};

export function imageVolid(storage: string, content: ImageContent, file: string): string {
  return `${storage}:${content}/${file}`;
}

/** The parts of a volume that we made the name of. */
export function placeOfVolume(volid: string): { storage: string; content: ImageContent; file: string } {
  const [, storage = '', content, file = ''] = /^([^:]+):(import|iso)\/(.+)$/.exec(volid) ?? [];
  return { storage, content: content === 'iso' ? 'iso' : 'import', file };
}

/** Of a file name, on every usual file system. */
export const MOST_CHARACTERS = 255;

export function isAcceptableName(content: ImageContent, file: string): boolean {
  return ACCEPTED[content].test(file) && file.length <= MOST_CHARACTERS;
}

/**
 * The accepted name that is nearest: the file's own where it can stay, else without path, odd characters and the ending of
 * a compression, because what lies in the storage is unpacked. `.img` says nothing about the format: as import it becomes
 * `.qcow2`, as it is for Ubuntu's, since Proxmox looks into a `.qcow2` and refuses another format, whereas a `.raw` can be
 * anything. Undefined where no ending suggests itself.
 */
export function acceptableName(content: ImageContent, file: string): string | undefined {
  const bare = withoutCompression(file.replace(/^.*[/\\]/s, '').replace(/[^a-zA-Z0-9_.-]/g, '_'));
  const renamed =
    content === 'iso'
      ? bare
      : bare.replace(/\.img$/i, '.qcow2').replace(/\.(ova|qcow2|raw|vmdk)$/i, (ending) => ending.toLowerCase());
  return isAcceptableName(content, renamed) ? renamed : undefined;
}

/** By the ending of a file name, or of the path of a URL. */
export function compressionOf(fileOrUrl: string): Compression | undefined {
  const ending = /\.([a-z0-9]+)(?:[?#].*)?$/i.exec(fileOrUrl)?.[1]?.toLowerCase();
  return COMPRESSIONS.find((compression) => compression === ending);
}

/** Whether the server unpacks it on the way in; else that is for us, and the file has to be sent. */
export function isUnpackedByServer(content: ImageContent, compression: Compression): compression is ServerCompression {
  return content === 'iso' && UNPACKED_BY_SERVER.some((each) => each === compression);
}

function withoutCompression(file: string): string {
  const compression = compressionOf(file);
  return compression === undefined ? file : file.slice(0, -(compression.length + 1));
}

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
