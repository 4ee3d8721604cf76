/** A QEMU process right after its launch. */
import type { Instant } from '../../../base/clock.ts';
import { attachedSeed, bootingGuest } from '../../guests/launch.ts';
import { withInstalledAgent } from '../../guests/profiles.ts';
import type { QemuProcess, Vm, World } from '../../world/world.ts';

export function newQemuProcess(
  world: World,
  vm: Vm,
  start: { readonly pid: number; readonly startedAt: Instant },
): QemuProcess {
  const guest = bootingGuest(world, vm);
  const seed = attachedSeed(world, vm);
  return {
    pid: start.pid,
    startedAt: start.startedAt,
    qmpStatus: 'running',
    launched: new Map(vm.config.current),
    guestBootedAt: start.startedAt,
    // Rule [assumed]: the agent exists as long as the disc says so; without the disc it is unknown whether one was
    // installed.
    guest: guest && seed?.installsAgent ? withInstalledAgent(guest) : guest,
    seed,
    executions: new Map(),
    agentBusyUntil: start.startedAt,
  };
}
