/** The steps of a file: what each action is given, as plain JSON data, and how a step is put together. */
import type { Address } from '../../base/address.ts';
import type { ImageSource } from '../../base/image-source.ts';
import type { ActionContext } from '../action.ts';
import type { Stage, Step } from '../step.ts';
import { type Compression, type ImageContent, imageVolid, type ServerCompression } from './file.ts';
import { type FileRecord, fileKey } from './record.ts';

export interface FilePlace {
  readonly node: string;
  readonly storage: string;
  readonly content: ImageContent;
  /** Name in the storage. */
  readonly file: string;
}

/** Of the file as it is fetched, still packed. The stronger one counts. */
export interface DeclaredSums {
  readonly sha256?: string;
  readonly sha512?: string;
}

/** Proxmox fetches it. */
export interface FetchImageInput extends FilePlace, DeclaredSums {
  readonly url: string;
  /** To be unpacked by the server. */
  readonly compression?: ServerCompression;
  readonly verifyCertificates?: boolean;
  /** A file of that name that is not the right one goes. */
  readonly replace?: boolean;
}

/** Where the bytes come from that we send. */
export type ImageOrigin = DeclaredSums & { readonly compression?: Compression } & (
    | { readonly kind: 'file'; readonly path: string }
    | { readonly kind: 'download'; readonly url: string }
  );

export interface SendImageInput extends FilePlace {
  readonly origin: ImageOrigin;
  readonly replace?: boolean;
}

export type RemoveImageInput = FilePlace;

export interface FileInputs {
  readonly 'image.fetch': FetchImageInput;
  readonly 'image.send': SendImageInput;
  readonly 'image.remove': RemoveImageInput;
}

export type FileActionName = keyof FileInputs;

export type FileStep = { readonly [Name in FileActionName]: Step<Name, FileInputs[Name]> }[FileActionName];

const STAGE_OF: Readonly<Record<FileActionName, Stage>> = {
  'image.fetch': 'create',
  'image.send': 'create',
  'image.remove': 'remove',
};

export function isFileStep(step: Step): step is FileStep {
  return step.action in STAGE_OF;
}

/** `image.noble["pve1"]/fetch`. */
export function fileStep<Name extends FileActionName>(
  address: Address,
  action: Name,
  input: FileInputs[Name],
  options: { readonly needs?: readonly string[] } = {},
): Step<Name, FileInputs[Name]> {
  const id = `${address}/${action.slice('image.'.length)}`;
  return { id, stage: STAGE_OF[action], address, action, input, needs: options.needs ?? [] };
}

export function volidOf({ storage, content, file }: FilePlace): string {
  return imageVolid(storage, content, file);
}

/** Under which it is remembered. */
export function keyOf(place: FilePlace): string {
  return fileKey(place.node, volidOf(place));
}

export function placeOf({ node, storage, content, file }: FilePlace): FilePlace {
  return { node, storage, content, file };
}

/** As the server is told of it. */
export function declaredChecksum(
  sums: DeclaredSums,
): { readonly algorithm: 'sha256' | 'sha512'; readonly value: string } | undefined {
  if (sums.sha512 !== undefined) return { algorithm: 'sha512', value: sums.sha512 };
  return sums.sha256 === undefined ? undefined : { algorithm: 'sha256', value: sums.sha256 };
}

/** The door to bytes of our own, for any origin. */
export type ImageSources = (origin: ImageOrigin) => ImageSource;

export interface FileContext extends ActionContext {
  /** What is remembered of a file right now. */
  file(key: string): FileRecord | undefined;
  /** Records a fact about a file; null forgets it. */
  learnFile(key: string, file: FileRecord | null): Promise<void>;
  /** The door to bytes of our own. */
  imageSource(origin: ImageOrigin): ImageSource;
}

export type FileAction<Input> = (context: FileContext, input: Input) => Promise<void>;
