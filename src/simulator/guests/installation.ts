/**
 * Media that install by themselves: a guest profile that writes another one to the first disk of its VM and then powers
 * off or boots it. Requirements and durations come from the world; Proxmox is not involved.
 */
import type { Runtime } from '../core/runtime.ts';
import { setUsedBytes } from '../storage/catalogue.ts';
import { findVolume } from '../storage/volumes.ts';
import { drivesByBus } from '../vm/disks/drive.ts';
import type { Installation, QemuProcess, Vm, Volume } from '../world/world.ts';

const paused = new WeakMap<QemuProcess, () => void>();

/** Called when a paused machine resumes; until then it does nothing. */
export function resumeInstallation(process: QemuProcess): void {
  paused.get(process)?.();
  paused.delete(process);
}

function resumed(process: QemuProcess): Promise<void> {
  return new Promise((resolve) => {
    paused.set(process, resolve);
  });
}

/** Runs an installation while the machine runs; does nothing if there is none. */
export function followInstallation(runtime: Runtime, vm: Vm, process: QemuProcess, powerOff: () => void): void {
  follow(runtime, vm, process, powerOff).catch(() => {}); // its clock was stopped
}

async function follow(runtime: Runtime, vm: Vm, process: QemuProcess, powerOff: () => void): Promise<void> {
  for (;;) {
    const guest = process.guest;
    const target = guest?.installs && installationTarget(runtime, vm, process, guest.installs);
    if (!guest?.installs || !target || typeof guest.bootMs !== 'number') return;
    const waitMs = process.guestBootedAt + guest.bootMs + guest.installs.takesMs - runtime.clock.now();
    if (waitMs > 0) await runtime.clock.sleep(waitMs);
    if (process.qmpStatus !== 'running') await resumed(process);
    if (vm.process !== process) return;
    // A reset or a pause has postponed the end.
    if (waitMs > 0) continue;
    write(runtime, vm, target, guest.installs);
    if (guest.installs.afterwards === 'off') return powerOff();
    process.guest = guest.installs.guest;
    process.guestBootedAt = runtime.clock.now();
  }
}

/**
 * Rule [assumed]: an installer that waits for its configuration, finds no disk or too small a one, or finds its own system on
 * it (it was started from the medium once more), sits there and does nothing.
 */
function installationTarget(
  { world }: Runtime,
  vm: Vm,
  process: QemuProcess,
  installs: Installation,
): Volume | undefined {
  if (installs.needsSeed && !hasUserData(process)) return undefined;
  const disk = drivesByBus(process.launched).find((drive) => !drive.isCdrom && !/^(efidisk|tpmstate)/.test(drive.key));
  const volume = disk && findVolume(world, vm.node, disk.file);
  if (!volume || volume.sizeBytes < installs.dataBytes || volume.guest === installs.guest) return undefined;
  return volume;
}

/** Proxmox's own drive holds custom user-data only through a snippet. */
function hasUserData(process: QemuProcess): boolean {
  return process.seed?.hasUserData === true || /(?:^|,)user=/.test(process.launched.get('cicustom') ?? '');
}

function write({ world }: Runtime, vm: Vm, volume: Volume, installs: Installation): void {
  volume.guest = installs.guest;
  volume.dataBytes = Math.max(volume.dataBytes, installs.dataBytes);
  const storage = world.storages.get(volume.storage);
  if (storage) setUsedBytes(storage, vm.node, volume, Math.max(volume.usedBytes, installs.dataBytes));
}
