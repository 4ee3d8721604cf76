/**
 * Where things can be made to go wrong: the pipeline and the task runner ask a `Faults` object at each of these points. An
 * empty one is a healthy cluster. What goes wrong when is decided by a plan (see `plan.ts`), never by the pipeline.
 */
import type { Runtime } from '../core/runtime.ts';
import type { TaskHooks } from '../core/tasks.ts';

export type RequestFault =
  /** The connection is cut before the request reaches the server. */
  | { readonly kind: 'cut-before' }
  /** The request is carried out, but its answer is lost. */
  | { readonly kind: 'cut-after' }
  /** pveproxy cannot reach the daemon or node: not executed. */
  | { readonly kind: 'not-executed'; readonly reason: string }
  /** pveproxy gives up waiting: the work goes on. */
  | { readonly kind: 'proxy-timeout' }
  /** Answered with this refusal, not executed. */
  | { readonly kind: 'refuse'; readonly status: number; readonly message: string };

export interface RequestInfo {
  readonly method: string;
  /** Below `/api2/json`, decoded. */
  readonly path: string;
  /** `PUT /nodes/{node}/qemu/{vmid}/config`, where the route is known. */
  readonly endpoint: string | undefined;
}

export interface Faults {
  readonly tasks: TaskHooks;
  /** Called once, when the simulator is put together. */
  attach?(runtime: Runtime): void;
  onRequest(info: RequestInfo): RequestFault | undefined;
}

export const noFaults: Faults = { tasks: {}, onRequest: () => undefined };
