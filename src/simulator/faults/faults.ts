/**
 * The points where faults can strike: the pipeline and the task runner call a `Faults` object at each of them. An empty
 * one is a healthy cluster. A plan (see `plan.ts`) decides what fails and when, never the pipeline.
 */
import type { DownloadFault, Runtime, TransferInfo, UploadFault } from '../core/runtime.ts';
import type { TaskHooks } from '../core/tasks.ts';
import type { RawParams } from '../schema/types.ts';
import type { Vm } from '../world/world.ts';

export type RequestFault =
  /** The connection is cut before the request reaches the server. */
  | { readonly kind: 'cut-before' }
  /** The request is carried out, but its answer is lost. */
  | { readonly kind: 'cut-after' }
  /** pveproxy cannot reach the daemon or node: not executed. */
  | { readonly kind: 'not-executed'; readonly reason: string }
  /** pveproxy gives up waiting; the work continues. */
  | { readonly kind: 'proxy-timeout' }
  /** The login is not accepted any more. */
  | { readonly kind: 'login-refused' }
  /** Answered with this refusal, not executed. */
  | {
      readonly kind: 'refuse';
      readonly status: number;
      readonly message: string;
      /** Errors by parameter. */
      readonly errors?: Readonly<Record<string, string>>;
    };

export interface RequestInfo {
  readonly method: string;
  /** Below `/api2/json`, decoded. */
  readonly path: string;
  /** `PUT /nodes/{node}/qemu/{vmid}/config`, where the route is known. */
  readonly endpoint: string | undefined;
  /** Of query and body, before any check. */
  readonly params: RawParams;
  /** Whether the privileged daemon executes it. */
  readonly isProtected: boolean;
  /** The login ticket sent along, good or bad. */
  readonly ticket: string | undefined;
}

export interface Faults {
  readonly tasks: TaskHooks;
  /** Called once, when the simulator is built. */
  attach?(runtime: Runtime): void;
  onRequest(info: RequestInfo): RequestFault | undefined;
  /** Called when the body of an upload begins to arrive, before the sender is authenticated. */
  onUpload?(info: TransferInfo): UploadFault | undefined;
  /** Called when a node begins a download. */
  onDownload?(info: TransferInfo): DownloadFault | undefined;
}

export const noFaults: Faults = { tasks: {}, onRequest: () => undefined };

/** Combines several sources of faults; for a request the first one that returns a fault decides. */
export function combineFaults(...sources: readonly Faults[]): Faults {
  return {
    tasks: {
      beforeJob: (record) => {
        for (const { tasks } of sources) tasks.beforeJob?.(record);
      },
      onLog: (record, line) => {
        for (const { tasks } of sources) tasks.onLog?.(record, line);
      },
      beforeEnd: (task) => {
        for (const { tasks } of sources) tasks.beforeEnd?.(task);
      },
    },
    attach: (runtime) => {
      for (const source of sources) source.attach?.(runtime);
    },
    onRequest: (info) => firstOf(sources, (source) => source.onRequest(info)),
    onUpload: (info) => firstOf(sources, (source) => source.onUpload?.(info)),
    onDownload: (info) => firstOf(sources, (source) => source.onDownload?.(info)),
  };
}

function firstOf<T>(sources: readonly Faults[], ask: (source: Faults) => T | undefined): T | undefined {
  for (const source of sources) {
    const fault = ask(source);
    if (fault) return fault;
  }
  return undefined;
}

export function nodeOf(runtime: Runtime, info: RequestInfo): string {
  const node = /^\/nodes\/([^/]+)/.exec(info.path)?.[1];
  return node !== undefined && runtime.world.nodes.has(node) ? node : runtime.world.entryNode;
}

/** The VM in the path, or the one a POST is about to create. */
export function vmidOf(info: RequestInfo): number | undefined {
  const inPath = /^\/nodes\/[^/]+\/qemu\/(\d+)/.exec(info.path)?.[1];
  if (inPath !== undefined) return Number(inPath);
  return createdId(info);
}

/** The id that the request would take: of a clone or a new VM. */
export function createdId(info: RequestInfo): number | undefined {
  if (info.method !== 'POST') return undefined;
  const text = info.path.endsWith('/clone') ? info.params.newid : info.path.endsWith('/qemu') ? info.params.vmid : null;
  const id = Number(text ?? Number.NaN);
  return Number.isSafeInteger(id) ? id : undefined;
}

export function existingVm(runtime: Runtime, info: RequestInfo): Vm | undefined {
  const vmid = vmidOf(info);
  return vmid === undefined ? undefined : runtime.world.vms.get(vmid);
}

/** The storage in the path or among the parameters. */
export function storageOf(info: RequestInfo): string | undefined {
  const inPath = /^\/nodes\/[^/]+\/storage\/([^/]+)/.exec(info.path)?.[1];
  return inPath ?? (typeof info.params.storage === 'string' ? info.params.storage : undefined);
}
