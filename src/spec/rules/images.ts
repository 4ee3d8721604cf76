/** What an image must be so that it can get into its storage and be used there. */
import { advice, type Hint, setting } from '../../base/hint.ts';
import {
  acceptableName,
  imageVolid,
  isAcceptableName,
  isUnpackedByServer,
  MOST_CHARACTERS,
} from '../../resources/file/file.ts';
import { imageCompression } from '../../resources/image/names.ts';
import type { ResolvedImage } from '../types.ts';
import type { Complaint, ImageRule } from './rule.ts';

const ENDINGS = { import: '.qcow2, .raw, .vmdk or .ova', iso: '.iso or .img' } as const;

export const oneSource: ImageRule = {
  reads: ['url', 'path'],
  *check({ name, fields: { url, path } }) {
    if (url !== undefined && path !== undefined) {
      yield { path: 'path', detail: '"url" and "path" exclude each other: an image comes from one place.' };
    } else if (url === undefined && path === undefined) {
      yield {
        path: '',
        detail: `The image "${name}" does not say where it comes from.`,
        hint: 'Give it a url to fetch, or the path of a local file.',
      };
    }
  },
};

export const viaFitsSource: ImageRule = {
  reads: ['via', 'url', 'path'],
  *check({ fields: { via, url, path } }) {
    if (via === undefined || url !== undefined || path === undefined) return;
    yield {
      path: 'via',
      detail: '"via" says who fetches a url; a local file is always sent by Proxwright.',
      hint: 'Take "via" out.',
    };
  },
};

/** The download of ours refuses it anyway, but only in the middle of a run. */
export const downloadIsProven: ImageRule = {
  reads: ['url', 'via', 'sha256', 'sha512'],
  *check({ fields: { url, via, sha256, sha512 } }) {
    if (via !== 'upload' || url === undefined || !/^http:/i.test(url) || (sha256 ?? sha512) !== undefined) return;
    yield {
      path: 'url',
      detail:
        'The address is not encrypted and no checksum is given, so nobody could tell whether the right file arrives.',
      hint: advice`Use https, or write ${setting('sha256', '…')}.`,
    };
  },
};

/** An address stands in plans, in the state, in the server's task log. */
export const urlHoldsNoPassword: ImageRule = {
  reads: ['url'],
  *check({ fields: { url } }) {
    if (url === undefined || !URL.canParse(url) || new URL(url).password === '') return;
    yield {
      path: 'url',
      detail: 'The address holds a password, and everybody who sees a plan or the log of a node would see it.',
      hint: advice`Fetch the file yourself and name it: ${setting('path', './FILE')}.`,
    };
  },
};

/** Proxmox unpacks ISO content only, and not every kind of it; a packed disk image would be stored as it is. */
export const imageIsUnpacked: ImageRule = {
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
          ? `The image is packed (${compression}), and Proxmox unpacks only ISO content while it downloads.`
          : `The image is packed with ${compression}, which Proxmox cannot unpack.`,
      hint: advice`Write ${setting('via', 'upload')}; Proxwright then fetches and unpacks it, and sends what comes out.`,
    };
  },
};

export const imageNameIsAccepted: ImageRule = {
  reads: ['url', 'path', 'file', 'content', 'compression'],
  *check({ fields, file }) {
    const { content } = fields;
    if (fields.file === undefined && (fields.url === undefined) === (fields.path === undefined)) return;
    if (isAcceptableName(content, file)) return;
    const path = fields.file === undefined ? sourcePath(fields) : 'file';
    if (file === '') {
      yield {
        path,
        detail: 'This gives the file in the storage no name.',
        hint: advice`Write ${setting('file', example(content))}.`,
      };
      return;
    }
    if (file.length > MOST_CHARACTERS) {
      yield {
        path,
        detail: `In the storage the file would have a name of ${file.length} characters; more than ${MOST_CHARACTERS} are not possible.`,
        hint: advice`Give it another name: ${setting('file', example(content))}.`,
      };
      return;
    }
    yield {
      path,
      detail: `In the storage the file would be called "${file}"; ${content === 'iso' ? 'ISO' : 'import'} content must end in ${ENDINGS[content]}.`,
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
    return advice`Say ${setting('content', other)}, or give it another name: ${setting('file', example(content))}.`;
  return advice`Give it another name: ${setting('file', example(content))}.`;
}

function example(content: ResolvedImage['fields']['content']): string {
  return content === 'iso' ? 'NAME.iso' : 'NAME.qcow2';
}

function sourcePath({ url }: ResolvedImage['fields']): string {
  return url === undefined ? 'path' : 'url';
}

/** Two images under one name would overwrite each other. */
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
        hint: 'Give each its own file.',
      };
    }
  },
};

/** Without a user nobody knows which node should get it. */
export function unused({ name }: ResolvedImage, node: string): Complaint {
  return {
    path: '',
    detail: `No VM and no template uses the image "${name}", so it is not known which node needs it.`,
    hint: advice`Name it in a disk (${setting('image', name)}), or say which nodes get it: ${setting('nodes', [node])}.`,
  };
}
