/**
 * The state of what runs inside a VM, as a function of time: nothing ticks, everything follows from when the guest
 * began to boot and from its profile. A VM without an operating system on its boot disk never boots.
 */
import type { Instant } from '../../base/clock.ts';
import { formatOfKey, parseProperty } from '../../pve/wire/index.ts';
import { cloudInitDriveKey } from '../vm/config/config-file.ts';
import type { QemuProcess, Vm } from '../world/world.ts';

export interface GuestState {
  /** User space runs and reacts to the power button. */
  readonly booted: boolean;
  readonly networkUp: boolean;
  readonly agentAnswers: boolean;
}

const NOTHING: GuestState = { booted: false, networkUp: false, agentAnswers: false };

export function guestState(process: QemuProcess | undefined, now: Instant): GuestState {
  const guest = process?.guest;
  // A paused machine computes nothing, so it answers nothing.
  if (!guest || guest.bootMs === 'never' || process.qmpStatus !== 'running') return NOTHING;
  const upForMs = now - process.guestBootedAt - guest.bootMs;
  if (upForMs < 0) return NOTHING;
  return {
    booted: true,
    networkUp: upForMs >= guest.networkMs,
    agentAnswers: agentEnabled(process.launched) && typeof guest.agentMs === 'number' && upForMs >= guest.agentMs,
  };
}

/** When its agent opens the channel, counted from its boot; undefined if it never does. */
export function agentUpAt(process: QemuProcess | undefined): Instant | undefined {
  const guest = process?.guest;
  if (!guest || typeof guest.bootMs !== 'number' || typeof guest.agentMs !== 'number') return undefined;
  return process.guestBootedAt + guest.bootMs + guest.agentMs;
}

/**
 * Rule [source QS QemuServer/Agent.pm get_qga_key]: `agent` counts as enabled only with a true first value; QEMU gets the
 * device for it only when it is started with it.
 */
export function agentEnabled(config: ReadonlyMap<string, string>): boolean {
  const text = config.get('agent');
  const format = formatOfKey('agent');
  if (text === undefined || !format) return false;
  const parsed = parseProperty(format, text);
  return parsed.ok && parsed.value.get('enabled') === '1';
}

/** Whether the guest got data from a cloud-init drive or a NoCloud disc. */
export function readsCloudInit(process: QemuProcess): boolean {
  if (process.guest?.cloudInit !== true) return false;
  return process.seed !== undefined || cloudInitDriveKey(process.launched) !== undefined;
}

/**
 * Rule [recorded guest-agent]: cloud-init makes the VM's name the host name; Rule [source QS QemuServer/Cloudinit.pm
 * get_hostname_fqdn]: without a name it is `VM<id>`, and only the first label of a dotted name.
 */
export function guestHostName(vm: Vm, process: QemuProcess): string {
  const ownName = process.guest?.os.id || 'localhost';
  if (!readsCloudInit(process)) return ownName;
  // Rule [assumed]: a custom disc takes precedence over Proxmox's drive, and need not name a host.
  if (process.seed) return process.seed.hostName ?? ownName;
  const name = process.launched.get('name') ?? `VM${vm.vmid}`;
  return name.split('.')[0] ?? name;
}
