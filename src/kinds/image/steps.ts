/** The steps of a file: the input of each action, as plain JSON data, the context that its actions receive, and the privileges that they need. */
import type { Address } from '../../base/address.ts';
import type { ImageSource } from '../../base/image-source.ts';
import type { ActionContext } from '../action.ts';
import { type Need, need, on } from '../privileges/need.ts';
import { makeStep, type Stage, type Step } from '../step.ts';
import { type Compression, type ImageContent, imageVolid, type ServerCompression } from './file.ts';
import { type FileRecord, fileKey } from './record.ts';

export interface FilePlace {
  readonly node: string;
  readonly storage: string;
  readonly content: ImageContent;
  /** Name in the storage. */
  readonly file: string;
}

/** Checksums of the file as it is downloaded, still packed. The stronger one is used. */
export interface DeclaredSums {
  readonly sha256?: string;
  readonly sha512?: string;
}

/** Proxmox downloads it. */
export interface FetchImageInput extends FilePlace, DeclaredSums {
  readonly url: string;
  /** Proxmox unpacks it. */
  readonly compression?: ServerCompression;
  readonly verifyCertificates?: boolean;
  /** Replace another file that has this name. */
  readonly replace?: boolean;
}

/** Where uploaded bytes come from. */
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
): Step<Name, FileInputs[Name]> {
  return makeStep(address, action, STAGE_OF[action], input);
}

export function volidOf({ storage, content, file }: FilePlace): string {
  return imageVolid(storage, content, file);
}

/** The key of its record. */
export function keyOf(place: FilePlace): string {
  return fileKey(place.node, volidOf(place));
}

export function placeOf({ node, storage, content, file }: FilePlace): FilePlace {
  return { node, storage, content, file };
}

/** The checksum that Proxmox is given. */
export function declaredChecksum(
  sums: DeclaredSums,
): { readonly algorithm: 'sha256' | 'sha512'; readonly value: string } | undefined {
  if (sums.sha512 !== undefined) return { algorithm: 'sha512', value: sums.sha512 };
  return sums.sha256 === undefined ? undefined : { algorithm: 'sha256', value: sums.sha256 };
}

/** Access to local files and downloads, for any origin. */
export type ImageSources = (origin: ImageOrigin) => ImageSource;

/** What the actions of a file receive beyond what every action receives. */
export interface FileServices {
  /** What the state records about a file now. */
  file(key: string): FileRecord | undefined;
  /** Records a file; null removes the record. */
  learnFile(key: string, file: FileRecord | null): Promise<void>;
  /** Access to local files and downloads. */
  imageSource(origin: ImageOrigin): ImageSource;
}

export type FileContext = ActionContext & FileServices;

export type FileAction<Input> = (context: FileContext, input: Input) => Promise<void>;

const WHOLE = { field: '' } as const;

/** Every action starts and ends with a listing of the storage, which Datastore.Allocate alone does not allow. */
const look = ({ storage }: FilePlace): Need =>
  need(['Datastore.Audit', 'Datastore.AllocateSpace'], on(`/storage/${storage}`), WHOLE);

const template = ({ storage }: FilePlace): Need =>
  need('Datastore.AllocateTemplate', on(`/storage/${storage}`), { field: 'storage' });

const removal = ({ storage }: FilePlace, field: string): Need =>
  need('Datastore.Allocate', on(`/storage/${storage}`), { field });

/** What each step of a file needs. The map is total: the compiler refuses a new action until it says what it needs. */
const FILE_PRIVILEGES: {
  readonly [Name in FileActionName]: (input: FileInputs[Name]) => readonly Need[];
} = {
  'image.fetch': (input) => [
    look(input),
    template(input),
    // Sys.Audit together with Sys.Modify on / is enough too: they allowed it before this privilege existed.
    {
      ...need('Sys.AccessNetwork', on(`/nodes/${input.node}`), { field: 'url' }),
      instead: [need('Sys.Audit', on('/'), { field: 'url' }), need('Sys.Modify', on('/'), { field: 'url' })],
    },
    ...(input.replace ? [removal(input, '')] : []),
  ],
  // An upload overwrites the file that has the name, so replacing needs nothing more.
  'image.send': (input) => [look(input), template(input)],
  'image.remove': (input) => [look(input), removal(input, '')],
};

export function needsOfFileStep(step: FileStep): readonly Need[] {
  switch (step.action) {
    case 'image.fetch':
      return FILE_PRIVILEGES['image.fetch'](step.input);
    case 'image.send':
      return FILE_PRIVILEGES['image.send'](step.input);
    case 'image.remove':
      return FILE_PRIVILEGES['image.remove'](step.input);
  }
}
