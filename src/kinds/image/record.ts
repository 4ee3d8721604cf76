/** What the state records about a file in a storage between runs: its source, and how to recognise it. */
import { z } from 'zod';

export const fileRecordSchema = z.strictObject({
  /** Of the image that the file belongs to. */
  address: z.string(),
  node: z.string(),
  volid: z.string(),
  url: z.string().optional(),
  /** The checksum that the stack declares; of an uploaded file, that of its bytes. */
  sha256: z.string().optional(),
  sha512: z.string().optional(),
  /** Of an uploaded file: the checksum that the stack declares, which may be that of the packed file. */
  declared: z.string().optional(),
  /** Size and creation time are all that a storage reports about a file without reading it. */
  sizeBytes: z.number(),
  /** Seconds since the Unix epoch, by the clock of the node. */
  ctime: z.number().optional(),
  /**
   * The name was free when the transfer began, and whether the whole file has arrived is unknown: a file under that name
   * is ours. Size and time are the expected ones, not those of the storage.
   */
  incomplete: z.literal(true).optional(),
  /** It was in the storage before, and Proxwright uses it as it is: it is not ours to remove. */
  foreign: z.literal(true).optional(),
});

export type FileRecord = z.output<typeof fileRecordSchema>;

/** Local storages of several nodes may hold files with the same name. */
export function fileKey(node: string, volid: string): string {
  return `${node}/${volid}`;
}

/** What a storage lists about a file. */
export interface ListedFile {
  readonly size?: number | undefined;
  readonly ctime?: number | undefined;
}

/** Whether the listed file still is the recorded one. Some storages report no time. */
export function isSameFile(recorded: FileRecord, listed: ListedFile): boolean {
  if (recorded.incomplete) return false;
  const isSameTime = recorded.ctime === undefined || listed.ctime === undefined || recorded.ctime === listed.ctime;
  return recorded.sizeBytes === listed.size && isSameTime;
}
