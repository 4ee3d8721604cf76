/** What has to be remembered of a file in a storage between runs. The state file holds one of these per file. */

export interface FileMemory {
  readonly address: string;
  readonly node: string;
  readonly volid: string;
  readonly url?: string | undefined;
  /** What was asked for; of a file that we sent, what its bytes had. */
  readonly sha256?: string | undefined;
  readonly sha512?: string | undefined;
  /** Of a file that we sent: the sum that was declared of it, which may be that of a packed one. */
  readonly declared?: string | undefined;
  /** With the time it was made, what the storage tells of a file without reading it. */
  readonly sizeBytes: number;
  /** Seconds since the Unix epoch, by the clock of the node. */
  readonly ctime?: number | undefined;
  /**
   * Nothing was there when we began, and whether all of it has arrived is not known: whatever is there now is ours.
   * Size and time are those that are expected, not those of the storage.
   */
  readonly incomplete?: true | undefined;
  /** It was there before we came, and is used as it is: whoever brought it removes it. */
  readonly foreign?: true | undefined;
}

/** One name may stand in the local storages of several nodes. */
export function fileKey(node: string, volid: string): string {
  return `${node}/${volid}`;
}

/** What a listing tells of the file. */
export interface ListedFile {
  readonly size?: number | undefined;
  readonly ctime?: number | undefined;
}

/** Whether the file is still the one we left there. Some storages tell no time. */
export function isSameFile(memory: FileMemory, listed: ListedFile): boolean {
  if (memory.incomplete) return false;
  const isSameTime = memory.ctime === undefined || listed.ctime === undefined || memory.ctime === listed.ctime;
  return memory.sizeBytes === listed.size && isSameTime;
}
