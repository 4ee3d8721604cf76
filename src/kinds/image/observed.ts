/** What is observed of images. */
import type { Address } from '../../base/address.ts';
import type { Readable, StorageRow } from '../cluster.ts';
import type { ResolvedImage } from './stack.ts';

export interface ImagesObserved {
  /** Every place that has to hold an image of the stack. */
  readonly images: readonly ImageSite[];
}

export const NO_IMAGES: ImagesObserved = { images: [] };

/** An image, and a storage of a node that has to hold it. */
export interface ImageSite {
  readonly image: ResolvedImage;
  /** For shared storage, the node that transfers the file. */
  readonly node: string;
  /** Undefined if the node has no such storage, or none that the token may see. */
  readonly row: StorageRow | undefined;
  /** Whether the node's storages could be read at all. */
  readonly isRead: boolean;
  readonly isShared: boolean;
  /** The file in the storage; its value is undefined if there is none. */
  readonly file: Readable<{ readonly sizeBytes: number | undefined; readonly ctime: number | undefined } | undefined>;
}

/** What the doctor's checks of images look at. */
export interface ImagesExamined {
  /** What web servers report about images to download, by address. */
  readonly downloads: ReadonlyMap<Address, DownloadAnswer>;
}

export type DownloadAnswer =
  | { readonly kind: 'there'; readonly sizeBytes: number | undefined }
  | { readonly kind: 'hidden'; readonly needs: string }
  /** The node's message. */
  | { readonly kind: 'failed'; readonly words: string };

export const NO_IMAGES_EXAMINED: ImagesExamined = { downloads: new Map() };
