/** `/nodes/{node}/tasks`: finished and running tasks of a node. Waiting for a task is in `pve/tasks`. */
import { z } from 'zod';
import type { CallOptions } from '../../exchange.ts';
import { apiPath } from '../../path.ts';
import type { Api } from '../../request.ts';
import type { Upid } from '../../wire/ids.ts';
import { anything, maybe, numeric, text, upidShape } from '../shapes.ts';

const taskStatusSchema = z.lazy(() =>
  z.looseObject({
    upid: upidShape,
    status: z.enum(['running', 'stopped']),
    /** Only when stopped: `OK`, `WARNINGS: n`, or the error in one line. */
    exitstatus: maybe(z.string()),
  }),
);
export type TaskStatus = z.output<typeof taskStatusSchema>;

const taskEntrySchema = z.lazy(() =>
  z.looseObject({
    upid: upidShape,
    node: z.string(),
    type: z.string(),
    /** The VM id for VM tasks; for a clone, the id of its source. */
    id: maybe(text).transform((id) => id ?? ''),
    user: z.string(),
    tokenid: maybe(z.string()),
    starttime: numeric,
    endtime: maybe(numeric),
    /** `RUNNING` in the list of active tasks, else the exit status. */
    status: maybe(z.string()),
  }),
);
const taskEntriesSchema = z.lazy(() => z.array(taskEntrySchema));
export type TaskEntry = z.output<typeof taskEntrySchema>;

const logSchema = z.lazy(() => z.array(z.looseObject({ n: numeric, t: z.string() })));
export type TaskLogLine = z.output<typeof logSchema>[number];

export interface TaskFilter {
  /** The server's default is `archive`, which hides running tasks. */
  readonly source?: 'archive' | 'active' | 'all' | undefined;
  readonly vmid?: number | undefined;
  readonly typefilter?: string | undefined;
  readonly since?: number | undefined;
  readonly start?: number | undefined;
  readonly limit?: number | undefined;
}

export class NodeTasks {
  readonly #api: Api;
  readonly #node: string;

  constructor(api: Api, node: string) {
    this.#api = api;
    this.#node = node;
  }

  list(filter: TaskFilter = {}, options?: CallOptions): Promise<TaskEntry[]> {
    return this.#api.get(apiPath`/nodes/${this.#node}/tasks`, taskEntriesSchema, { ...filter }, options);
  }

  status(upid: Upid, options?: CallOptions): Promise<TaskStatus> {
    return this.#api.get(apiPath`/nodes/${this.#node}/tasks/${upid}/status`, taskStatusSchema, {}, options);
  }

  /** `start` counts from 0, line numbers from 1; `limit: 0` reads to the end. */
  log(upid: Upid, page: { readonly start?: number; readonly limit?: number } = {}, options?: CallOptions) {
    return this.#api.page(apiPath`/nodes/${this.#node}/tasks/${upid}/log`, logSchema, page, options);
  }

  /** Stops a running task. A clone cleans up after itself; other tasks may leave locks behind. */
  stop(upid: Upid, options?: CallOptions): Promise<void> {
    return this.#api.delete(apiPath`/nodes/${this.#node}/tasks/${upid}`, anything, {}, options);
  }
}
