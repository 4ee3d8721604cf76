/** Rules for images: source, checksum, compression and file name. */
import { advice, type Hint, setting } from '../../base/hint.ts';
import type { Complaint, Rule } from '../fields/rule.ts';
import {
  acceptableName,
  imageCompression,
  imageVolid,
  isAcceptableName,
  isUnpackedByServer,
  MOST_CHARACTERS,
} from './file.ts';
import type { ResolvedImage } from './stack.ts';

const ENDINGS = { import: '.qcow2, .raw, .vmdk or .ova', iso: '.iso or .img' } as const;

const oneSource: Rule<ResolvedImage> = {
  reads: ['url', 'path'],
  *check({ name, fields: { url, path } }) {
    if (url !== undefined && path !== undefined) {
      yield { path: 'path', detail: '"url" and "path" cannot be used together: an image has one source.' };
    } else if (url === undefined && path === undefined) {
      yield {
        path: '',
        detail: `The image "${name}" has no source.`,
        hint: 'Give it a url to download, or the path of a local file.',
      };
    }
  },
};

const viaFitsSource: Rule<ResolvedImage> = {
  reads: ['via', 'url', 'path'],
  *check({ fields: { via, url, path } }) {
    if (via === undefined || url !== undefined || path === undefined) return;
    yield {
      path: 'via',
      detail: '"via" says which side downloads a url. Proxwright always uploads a local file.',
      hint: 'Remove "via".',
    };
  },
};

/** Proxwright's own download refuses it anyway, but only in the middle of a run. */
const downloadIsProven: Rule<ResolvedImage> = {
  reads: ['url', 'via', 'sha256', 'sha512'],
  *check({ fields: { url, via, sha256, sha512 } }) {
    if (via !== 'upload' || url === undefined || !/^http:/i.test(url) || (sha256 ?? sha512) !== undefined) return;
    yield {
      path: 'url',
      detail: 'The URL is not encrypted and there is no checksum, so the download cannot be verified.',
      hint: advice`Use https, or write ${setting('sha256', '…')}.`,
    };
  },
};

/** The URL appears in plans, in the state and in the server's task log. */
const urlHoldsNoPassword: Rule<ResolvedImage> = {
  reads: ['url'],
  *check({ fields: { url } }) {
    if (url === undefined || !URL.canParse(url)) return;
    const { username, password } = new URL(url);
    if (username === '' && password === '') return;
    yield {
      path: 'url',
      // Some servers take an access token instead of the user.
      detail: 'The URL contains a user or a password, which plans and the node’s task log would show.',
      hint: advice`Download the file yourself and write ${setting('path', './FILE')}.`,
    };
  },
};

/** Proxmox decompresses only ISO content, and not from every format. It would store a compressed disk image as it is. */
const imageIsUnpacked: Rule<ResolvedImage> = {
  reads: ['url', 'path', 'via', 'content', 'compression'],
  *check({ fields }) {
    const compression = imageCompression(fields);
    if (compression === undefined || (fields.url === undefined) === (fields.path === undefined)) return;
    const isSent = fields.path !== undefined || fields.via === 'upload';
    if (isSent || isUnpackedByServer(fields.content, compression)) return;
    yield {
      path: fields.compression === undefined ? 'url' : 'compression',
      detail:
        fields.content === 'import'
          ? `The image is compressed (${compression}), and Proxmox decompresses only ISO content while it downloads.`
          : `The image is compressed with ${compression}, which Proxmox cannot decompress.`,
      hint: advice`Write ${setting('via', 'upload')}. Proxwright then downloads, decompresses and uploads it.`,
    };
  },
};

const imageNameIsAccepted: Rule<ResolvedImage> = {
  reads: ['url', 'path', 'file', 'content', 'compression'],
  *check({ fields, file }) {
    const { content } = fields;
    if (fields.file === undefined && (fields.url === undefined) === (fields.path === undefined)) return;
    if (isAcceptableName(content, file)) return;
    const path = fields.file === undefined ? sourcePath(fields) : 'file';
    if (file === '') {
      const source = path === 'url' ? 'URL' : 'path';
      yield {
        path,
        detail: `Cannot derive a file name from this ${source}.`,
        hint: advice`Write ${setting('file', example(content))}.`,
      };
      return;
    }
    if (file.length > MOST_CHARACTERS) {
      yield {
        path,
        detail: `The name of the file in the storage would have ${file.length} characters; at most ${MOST_CHARACTERS} are possible.`,
        hint: advice`Give it another name: ${setting('file', example(content))}.`,
      };
      return;
    }
    yield {
      path,
      detail: `The file in the storage would be called "${file}"; ${content === 'iso' ? 'ISO' : 'import'} content must end in ${ENDINGS[content]}.`,
      hint: nameHint(fields, file),
    };
  },
};

function nameHint({ content }: ResolvedImage['fields'], file: string): Hint {
  const near = acceptableName(content, file);
  if (near !== undefined) {
    return advice`Write ${setting('file', near)}${/\.img$/i.test(file) ? ' if it is a qcow2 file, as cloud images called .img are' : ''}.`;
  }
  const other = content === 'iso' ? 'import' : 'iso';
  if (isAcceptableName(other, file))
    return advice`Write ${setting('content', other)}, or give it another name: ${setting('file', example(content))}.`;
  return advice`Give it another name: ${setting('file', example(content))}.`;
}

function example(content: ResolvedImage['fields']['content']): string {
  return content === 'iso' ? 'NAME.iso' : 'NAME.qcow2';
}

function sourcePath({ url }: ResolvedImage['fields']): string {
  return url === undefined ? 'path' : 'url';
}

/** Two images with the same volume would overwrite each other. */
export const volumesAreDistinct = {
  reads: ['url', 'path', 'file', 'content', 'storage', 'compression'],
  *check(images: readonly ResolvedImage[]): Iterable<Complaint & { readonly image: ResolvedImage }> {
    const first = new Map<string, ResolvedImage>();
    for (const image of images) {
      const { fields, file, name } = image;
      const volume = imageVolid(fields.storage, fields.content, file);
      const earlier = first.get(volume);
      if (!earlier) {
        first.set(volume, image);
        continue;
      }
      yield {
        image,
        path: fields.file === undefined ? '' : 'file',
        detail: `The images "${earlier.name}" and "${name}" would both be ${volume}.`,
        hint: 'Give each a different file.',
      };
    }
  },
};

/** Without a user, it is unknown which node needs the image. */
export function unused({ name }: ResolvedImage, node: string): Complaint {
  return {
    path: '',
    detail: `No VM and no template uses the image "${name}", so Proxwright does not know which node needs it.`,
    hint: advice`Use it in a disk (${setting('image', name)}), or name the nodes that get it: ${setting('nodes', [node])}.`,
  };
}

/** Rules about one image. */
export const IMAGE_RULES: readonly Rule<ResolvedImage>[] = [
  imageIsUnpacked,
  imageNameIsAccepted,
  oneSource,
  viaFitsSource,
  downloadIsProven,
  urlHoldsNoPassword,
];
