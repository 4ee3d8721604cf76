/** Incoming files: their path, their name, and whether their format is what they claim. */
import { dieFault, paramFault } from '../../http/response.ts';
import type { ContentType, Storage, Volume, VolumeFormat } from '../../world/world.ts';
import { contentDirectory } from '../paths.ts';

export interface IncomingFile {
  /** Name after normalisation. */
  readonly file: string;
  /** Full path on the node. */
  readonly path: string;
  readonly volumeName: string;
  readonly content: ContentType;
  readonly format: VolumeFormat;
  /** The required format of the bytes; undefined if any is allowed. */
  readonly imageFormat: 'qcow2' | 'raw' | 'vmdk' | 'ova' | undefined;
}

/** Rule [source ST API2/Storage/Status.pm upload, download_url]: the extension must fit the content type. */
export function incomingFile(storage: Storage, content: string, asked: string): IncomingFile {
  const file = normalizedFileName(asked);
  const at = (type: ContentType) => ({
    file,
    path: `${contentDirectory(storage, type)}/${file}`,
    volumeName: `${type}/${file}`,
    content: type,
  });
  if (content === 'iso') {
    if (!/[^/]+\.(?:iso|img)$/i.test(file)) throw paramFault({ filename: 'wrong file extension' });
    return { ...at('iso'), format: 'iso', imageFormat: undefined };
  }
  if (content === 'vztmpl') {
    if (!/[^/]+\.(?:tar|tar\.(?:gz|xz|zst|bz2))$/i.test(file)) throw paramFault({ filename: 'wrong file extension' });
    return { ...at('vztmpl'), format: 'tgz', imageFormat: undefined };
  }
  const extension = /[a-zA-Z0-9\-.+=_]+\.(ova|qcow2|raw|vmdk)$/.exec(file)?.[1];
  if (extension !== 'ova' && extension !== 'qcow2' && extension !== 'raw' && extension !== 'vmdk') {
    throw paramFault({ filename: 'invalid filename or wrong extension' });
  }
  return { ...at('import'), format: extension, imageFormat: extension };
}

/** Rule [source ST Storage.pm normalize_content_filename]. */
function normalizedFileName(name: string): string {
  return name
    .replace(/\n$/, '')
    .replace(/^.*[/\\]/s, '')
    .replace(/[^a-zA-Z0-9_.-]/g, '_');
}

export function fileVolume(storage: Storage, incoming: IncomingFile, details: Partial<Volume>): Volume {
  return {
    storage: storage.id,
    name: incoming.volumeName,
    content: incoming.content,
    format: incoming.format,
    sizeBytes: 0,
    usedBytes: 0,
    dataBytes: 0,
    vmid: undefined,
    ctime: 0,
    parent: undefined,
    snapshots: new Map(),
    guest: undefined,
    ...details,
  };
}

/** Rule [source ST Storage/Common.pm qemu_img_info]: what the image tool says of a file that is something else. */
export function refuseFormat(path: string, expected: string, isExpected: boolean, log: (line: string) => void): void {
  if (isExpected) return;
  if (expected === 'ova') {
    // Rule [recorded storage-upload-more]: both tools are heard in the log before the task gives up.
    log('tar: This does not look like a tar archive');
    log('tar: Exiting with failure status due to previous errors');
    throw dieFault(`command 'tar -t -f ${path}' failed: exit code 2`);
  }
  log(`command '/usr/bin/qemu-img info '--output=json' ${path} -f ${expected}' failed: exit code 1`);
  throw dieFault(`qemu-img: Could not open '${path}': Image is not in ${expected} format`);
}

export interface UploadedImage {
  readonly isExpected: boolean;
  readonly virtualSizeBytes: number;
}

/** Checks the beginning of an uploaded file for the signature of its expected format. */
export function inspectImage(
  format: string,
  { content, sizeBytes }: { readonly content: Uint8Array; readonly sizeBytes: number },
): UploadedImage {
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const word = (offset: number) => (content.byteLength >= offset + 4 ? view.getUint32(offset) : 0);
  switch (format) {
    case 'qcow2': {
      const isExpected = word(0) === 0x514649fb && word(4) >= 2;
      return { isExpected, virtualSizeBytes: isExpected ? word(24) * 2 ** 32 + word(28) : 0 };
    }
    case 'vmdk': {
      const isExpected = word(0) === 0x4b444d56 || word(0) === 0x23204469;
      const sectors = content.byteLength >= 20 ? Number(view.getBigUint64(12, true)) : 0;
      return { isExpected, virtualSizeBytes: word(0) === 0x4b444d56 ? sectors * 512 : 0 };
    }
    case 'ova': {
      const mark = Buffer.from(content.subarray(257, 262)).toString('latin1');
      return { isExpected: mark === 'ustar', virtualSizeBytes: 0 };
    }
    default:
      return { isExpected: true, virtualSizeBytes: Math.ceil(sizeBytes / 512) * 512 };
  }
}
