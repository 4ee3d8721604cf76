/** What making the disks of a VM needs of its surroundings. */
import type { Runtime } from '../core/runtime.ts';
import type { Task } from '../core/tasks.ts';

export interface DiskJob {
  readonly runtime: Runtime;
  readonly node: string;
  readonly vmid: number;
  /** Absent in a synchronous call. */
  readonly task: Task | undefined;
  /** The configuration the drives are for. */
  readonly config: ReadonlyMap<string, string>;
  readonly pending: ReadonlyMap<string, string>;
  readonly defaultStorage: string | undefined;
  /** Refuses a volume the caller may not use. */
  readonly checkVolumeAccess: (volid: string) => void;
}
