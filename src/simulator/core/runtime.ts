/** The engine room of a simulator: the world plus everything that moves it. Handlers reach it through their `Call`. */
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Vm, World } from '../world/world.ts';
import type { LockTable } from './locks.ts';
import type { TaskRunner } from './tasks.ts';
import type { DownloadFault, TransferInfo } from './transfer-faults.ts';

export interface Runtime {
  readonly world: World;
  readonly clock: Clock;
  readonly random: Random;
  readonly locks: LockTable;
  readonly tasks: TaskRunner;
  readonly log: Logger;
  /** Told after a QEMU process has appeared or gone. */
  readonly onPowerChange?: (vm: Vm) => void;
  /** Asked when a node begins to download something: what goes wrong on the way. */
  readonly downloadFault?: (info: TransferInfo) => DownloadFault | undefined;
}

/** Epoch seconds, as Proxmox reports times. */
export function nowSeconds(runtime: Runtime): number {
  return Math.floor(runtime.clock.now() / 1000);
}
