/** A QEMU process as it is right after its launch. */
import type { Instant } from '../../base/clock.ts';
import { bootingGuest } from '../guests/launch.ts';
import type { QemuProcess, Vm, World } from '../world/world.ts';

export function newQemuProcess(
  world: World,
  vm: Vm,
  start: { readonly pid: number; readonly startedAt: Instant },
): QemuProcess {
  return {
    pid: start.pid,
    startedAt: start.startedAt,
    qmpStatus: 'running',
    launched: new Map(vm.config.current),
    guestBootedAt: start.startedAt,
    guest: bootingGuest(world, vm),
    executions: new Map(),
    agentBusyUntil: start.startedAt,
  };
}
