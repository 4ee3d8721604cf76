/** A configuration change, and its progress. */
import type { Call } from '../../core/call.ts';
import type { Task } from '../../core/tasks.ts';
import type { ApplyContext } from './pending.ts';

export interface UpdateRequest {
  readonly vmid: number;
  /** Keys to set; re-printed drives and NICs. */
  readonly values: ReadonlyMap<string, string | null>;
  readonly deletes: readonly string[];
  readonly reverts: readonly string[];
  readonly force: boolean;
  readonly digest: string | undefined;
  readonly skipLock: boolean;
  /** The request as the log shows it: `-cores 2 -delete net1`. */
  readonly summary: string;
}

/** One running update. `revert` turns into sets and deletes once the configuration is known. */
export interface Update {
  readonly call: Call;
  readonly request: UpdateRequest;
  readonly values: Map<string, string | null>;
  readonly deletes: string[];
  readonly task: Task | undefined;
  readonly context: ApplyContext;
  /** Devices of `boot` before the update; they change with their drives. */
  bootOrder: string[];
  /** What a running VM should apply immediately. */
  readonly modified: Set<string>;
}
