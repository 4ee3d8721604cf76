/**
 * Hotplug in a running QEMU: network cards, drives, USB devices. An operation that needs the guest's kernel fails after
 * some seconds if none runs.
 */
import { splitProperty } from '../../../pve/wire/index.ts';
import { guestState } from '../../guests/guest.ts';
import { mappingsOnNode } from '../../guests/launch.ts';
import { assertMtu, scriptFailure, tapDevice } from '../../guests/network-scripts.ts';
import { dieFault } from '../../http/response.ts';
import { splitList } from '../../schema/perl-text.ts';
import type { Bridge, QemuProcess } from '../../world/world.ts';
import { isDriveKey } from '../config/config-keys.ts';
import type { ConfigDraft } from '../config/config-text.ts';
import { type Drive, parseDrive } from '../disks/drive.ts';
import { ejectionAt, forgetEjection } from '../disks/firmware.ts';
import { parseNic } from '../machine.ts';
import { type ApplyContext, registerUnused } from './pending.ts';

/** `apply`: takes effect now; `keep`: stays pending. Failures are thrown. */
export type Verdict = 'apply' | 'keep';

export interface HotplugJob {
  readonly context: ApplyContext;
  readonly draft: ConfigDraft;
  readonly process: QemuProcess;
  readonly features: ReadonlySet<string>;
}

export function guestHelps(job: HotplugJob): boolean {
  return guestState(job.process, job.context.runtime.clock.now()).booted;
}

/** Rule [source QS QemuServer.pm vmconfig_update_net]: model, MAC, queues, MTU and bridge-or-none need a new device. */
export async function changeNic(
  job: HotplugJob,
  key: string,
  current: string | undefined,
  value: string,
): Promise<Verdict> {
  const { context } = job;
  const [old, requested] = [current === undefined ? undefined : parseNic(current), parseNic(value)];
  const bridge = requested?.get('bridge');
  const isThere = bridge === undefined || bridgeOf(job, bridge)?.active === true;
  const node = context.runtime.world.nodes.get(context.node);
  const failure = requested && scriptFailure(node, tapDevice(context.vmid, key), requested);
  if (old && requested) {
    const changed = (name: string) => (old.get(name) ?? '') !== (requested.get(name) ?? '');
    const replug = ['model', 'macaddr', 'queues', 'mtu'].some(changed) || !old.get('bridge') || !bridge;
    if (!replug) {
      const moves = ['bridge', 'tag', 'trunks', 'firewall'].some(changed);
      // Rule [source PC Network.pm tap_plug]: what is not there is neither kind of bridge.
      if (moves && !isThere) throw dieFault(`bridge '${bridge}' is neither a linux nor an OVS bridge!`);
      if (failure && (moves || changed('rate'))) throw dieFault(failure.lines.at(-1) ?? '');
      return 'apply';
    }
    if (!job.features.has('network')) return 'keep';
    await unplug(job, key);
  }
  if (!job.features.has('network')) return 'keep';
  // Rule [recorded run-net-changes]: QEMU's words when the script that attaches a new card to its bridge fails.
  if (!isThere || failure) {
    const script = '/usr/libexec/qemu-server/pve-bridge-hotplug';
    throw dieFault(
      `VM ${context.vmid} qmp command 'netdev_add' failed - network script ${script} failed with status ${failure?.status ?? 512}`,
    );
  }
  if (requested && bridge !== undefined) assertMtu(key, requested, () => {});
  return 'apply';
}

function bridgeOf({ context }: HotplugJob, name: string): Bridge | undefined {
  return context.runtime.world.nodes.get(context.node)?.bridges.get(name);
}

const COLD_DRIVE_OPTIONS = ['aio', 'discard', 'iothread', 'queues', 'product', 'cache', 'ssd', 'vendor', 'ro'];

/** Rule [source QS QemuServer.pm vmconfig_update_disk]. */
export async function changeDrive(
  job: HotplugJob,
  key: string,
  current: string | undefined,
  drive: Drive,
): Promise<Verdict> {
  const old = current === undefined ? undefined : parseDrive(key, current);
  const canHotplug = job.features.has('disk');
  if (old) {
    if (mediaOf(drive) !== mediaOf(old)) throw dieFault('unable to change media type');
    if (old.isCdrom) {
      if (drive.file === 'none' && old.isCloudInit) await registerUnused(job.context, job.draft, old);
      return 'apply';
    }
    if (drive.file === old.file) {
      const changed = (name: string) => (drive.options.get(name) ?? '') !== (old.options.get(name) ?? '');
      return COLD_DRIVE_OPTIONS.some(changed) ? 'keep' : 'apply';
    }
    if (!canHotplug) return 'keep';
    await unplug(job, key);
    await registerUnused(job.context, job.draft, old);
  }
  if (!canHotplug || /^(ide|sata)/.test(key)) return 'keep';
  // Rule [recorded run-drive-options]: an empty CD drive is not a volume that could be plugged in.
  if (drive.file === 'none' || drive.file === 'cdrom') throw dieFault(`unable to parse volume ID '${drive.file}'`);
  unpluggedFrom(job.process).delete(key);
  return 'apply';
}

const mediaOf = (drive: Drive) => drive.options.get('media') ?? 'disk';

/** Rule [source QS QemuServer/USB.pm parse_usb_device]. */
export function assertUsbDevice({ context }: HotplugJob, value: string): void {
  const mapping = splitProperty(value).find((part) => part.key === 'mapping')?.value;
  if (mapping === undefined) return;
  if (mappingsOnNode(context.runtime.world, 'usb', mapping, context.node).length === 0) {
    throw dieFault(`USB device mapping not found for '${mapping}'`);
  }
}

/** Disks that QEMU released although the removal failed later: the next attempt finds nothing left to do. */
const unplugged = new WeakMap<QemuProcess, Set<string>>();

function unpluggedFrom(process: QemuProcess): Set<string> {
  const keys = unplugged.get(process) ?? new Set();
  unplugged.set(process, keys);
  return keys;
}

/** Rule [source QS QemuServer.pm vm_deviceunplug]: the boot disks stay, and so does what is on IDE and SATA. */
export async function unplug(job: HotplugJob, key: string): Promise<void> {
  if (unpluggedFrom(job.process).has(key)) return;
  if (bootDisks(job.draft.current).includes(key)) throw dieFault(`can't unplug bootdisk '${key}'`);
  if (/^(ide|sata|efidisk|tpmstate)/.test(key)) throw dieFault(`can't unplug device '${key}'`);
  if (!key.startsWith('scsi')) return waitUntilGone(job, key, PATIENCE_SECONDS);
  // A SCSI disk leaves without the guest's help; its controller does not.
  unpluggedFrom(job.process).add(key);
  const controller = emptyController(job, key);
  if (controller !== undefined) await waitUntilGone(job, controller, CONTROLLER_PATIENCE_SECONDS);
}

/** Rule [source QS QemuServer.pm qemu_devicedelverify]: looks once more than it has seconds of patience. */
const PATIENCE_SECONDS = 5;
const CONTROLLER_PATIENCE_SECONDS = 15;

async function waitUntilGone(job: HotplugJob, device: string, patienceSeconds: number): Promise<void> {
  const { clock } = job.context.runtime;
  // Rule [assumed]: PCI devices (NIC, virtio disk, SCSI controller) leave within a second where a kernel runs.
  if (guestHelps(job)) return clock.sleep(1000);
  const patienceMs = (patienceSeconds + 1) * 1000;
  const leavesAt = ejectionAt(job.process, device, clock.now());
  if (leavesAt !== undefined && leavesAt <= clock.now() + patienceMs) {
    await clock.sleep(Math.max(0, leavesAt - clock.now()));
    return forgetEjection(job.process, device);
  }
  await clock.sleep(patienceMs);
  throw dieFault(`error on hot-unplugging device '${device}' - still busy in guest?`);
}

/** Rule [source QS QemuServer.pm qemu_deletescsihw]: the controller goes with its disk, or with the last of its disks. */
function emptyController(job: HotplugJob, key: string): string | undefined {
  const { current } = job.draft;
  const index = Number(key.slice('scsi'.length));
  const hardware = current.get('scsihw') ?? 'lsi';
  if (hardware === 'virtio-scsi-single') return `virtioscsi${index}`;
  const slots = hardware.startsWith('lsi') ? 7 : 256;
  const controller = Math.floor(index / slots);
  const gone = unpluggedFrom(job.process);
  const remains = [...current.keys()].some(
    (other) =>
      /^scsi\d+$/.test(other) &&
      !gone.has(other) &&
      Number(other.slice('scsi'.length)) < (slots - 1) * (controller + 1),
  );
  return remains ? undefined : `scsihw${controller}`;
}

/** Rule [source QS QemuServer/Drive.pm get_bootdisks]: the old `bootdisk` counts only where no order is given. */
function bootDisks(config: ReadonlyMap<string, string>): string[] {
  const parts = splitProperty(config.get('boot') ?? '');
  const legacy = config.get('bootdisk');
  const isLegacy = !config.get('boot') || parts.some(({ key }) => key === undefined || key === 'legacy');
  if (isLegacy) return legacy ? [legacy] : [];
  return splitList(parts.find(({ key }) => key === 'order')?.value ?? '').filter(isDriveKey);
}
