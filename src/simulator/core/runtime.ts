/** What handlers reach through their `Call`: the world, and everything that changes it. */
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { RemoteFile, Vm, World } from '../world/world.ts';
import type { LockTable } from './locks.ts';
import type { TaskRunner } from './tasks.ts';

export interface Runtime {
  readonly world: World;
  readonly clock: Clock;
  readonly random: Random;
  readonly locks: LockTable;
  readonly tasks: TaskRunner;
  readonly log: Logger;
  /** Called after a QEMU process has started or ended. */
  readonly onPowerChange?: (vm: Vm) => void;
  /** Really downloads a URL, if that is allowed; undefined if the world file decides. */
  readonly fetchOutside?: (url: string) => Promise<OutsideAnswer | undefined>;
  /** Called when a node begins a download: returns the fault, if any. */
  readonly downloadFault?: (info: TransferInfo) => DownloadFault | undefined;
}

/** Epoch seconds, as Proxmox reports times. */
export function nowSeconds(runtime: Runtime): number {
  return Math.floor(runtime.clock.now() / 1000);
}

/** The request that moves a file: `POST /nodes/pve1/storage/local/upload`. */
export interface TransferInfo {
  readonly method: string;
  readonly path: string;
}

/** What happens to the body of an upload once this much of it has arrived. */
export type UploadFault =
  | { readonly kind: 'cut'; readonly percent: number }
  | { readonly kind: 'stall'; readonly percent: number; readonly forMs: number };

/** The response of the outside world to a download. */
export type OutsideAnswer =
  | { readonly kind: 'file'; readonly remote: RemoteFile }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'refused' }
  | { readonly kind: 'unresolvable' };

/** What happens to a file while a node downloads it. */
export type DownloadFault =
  | { readonly kind: 'unresolvable' | 'refused' | 'content' }
  | { readonly kind: 'status'; readonly status: number }
  /** The line breaks when this much has come, once or every time. */
  | { readonly kind: 'cut' | 'cut-once'; readonly percent: number }
  | { readonly kind: 'stall'; readonly percent: number; readonly forMs: number };
