/** What Proxmox reports about a VM: the entries of the VM list and of `status/current`. */
import type { Instant } from '../../../base/clock.ts';
import { parseBootOrder, parseSize } from '../../../pve/wire/index.ts';
import type { Runtime } from '../../core/runtime.ts';
import { agentEnabled, guestState } from '../../guests/guest.ts';
import { memoryBytes } from '../../guests/launch.ts';
import { isHaManaged } from '../../ha/resources.ts';
import { isServerSince } from '../../world/releases.ts';
import type { QemuProcess, Vm } from '../../world/world.ts';
import { isTemplate } from '../config/config-file.ts';
import { isDriveKey, parseDrive } from '../disks/drive.ts';

export type VmStatus = Record<string, unknown>;

/** Rule [recorded run-start-stop]: the list entry; fields of the process only while it runs. */
export function vmStatus(runtime: Runtime, vm: Vm, now: Instant = runtime.clock.now()): VmStatus {
  const config = vm.config.current;
  const { process } = vm;
  const { maxmem, maxdisk, balloon, hasSerial } = configFacts(config);
  const memhost = usedBytes(vm);
  // Rule [source QS QemuServer.pm vmstatus of 9.0.9]: the host's view of a guest is reported since 9.0.
  const hasHostView = isServerSince(runtime.world, '9.0');
  const status: VmStatus = {
    vmid: vm.vmid,
    name: vmName(vm),
    status: process ? 'running' : 'stopped',
    cpus: cpuCount(runtime, vm),
    cpu: process ? 0.02 : 0,
    maxmem,
    mem: memhost,
    ...(hasHostView && { memhost }),
    maxdisk,
    disk: 0,
    uptime: uptimeSeconds(process, now),
    ...traffic(vm, now),
  };
  if (balloon > 0) {
    status.balloon_min = balloon * 1024 * 1024;
    status.shares = Number(config.get('shares') ?? 1000);
  }
  if (isTemplate(config)) status.template = 1;
  if (hasSerial) status.serial = 1;
  for (const key of ['lock', 'tags']) {
    const value = config.get(key);
    if (value !== undefined) status[key] = value;
  }
  if (process) Object.assign(status, { pid: process.pid, ...(hasHostView && NO_PRESSURE) });
  return status;
}

/**
 * Rule [source QS QemuServer.pm vmstatus]: with `full`, QEMU itself is queried; a stopped VM's state repeats its
 * status.
 */
export function fullVmStatus(runtime: Runtime, vm: Vm): VmStatus {
  const status: VmStatus = { ...vmStatus(runtime, vm), qmpstatus: vm.process?.qmpStatus ?? 'stopped' };
  const { nics } = configFacts(vm.config.current);
  const taps = vm.process ? nics.map((index) => `tap${vm.vmid}i${index}`) : [];
  if (taps.length > 0) {
    const share = (bytes: unknown) => Math.floor(Number(bytes) / taps.length);
    status.nics = Object.fromEntries(
      taps.map((tap) => [tap, { netin: share(status.netin), netout: share(status.netout) }]),
    );
  }
  return status;
}

/** Rule [recorded guest-agent]: `clipboard` is null as soon as there is a `vga` key without one. */
export function currentVmStatus(runtime: Runtime, vm: Vm): VmStatus {
  const status: VmStatus = { ...fullVmStatus(runtime, vm), ha: haStatus(runtime, vm) };
  const vga = vm.config.current.get('vga');
  if (vga !== undefined) {
    const type = /^(?:type=)?([^,=]+)(?:,|$)/.exec(vga)?.[1] ?? '';
    // Rule [source QS API2/Qemu.pm vm_status]: virtio displays and qxl support SPICE.
    if (/^(virtio|qxl)/.test(type)) status.spice = 1;
    status.clipboard = /(?:^|,)clipboard=([^,]+)/.exec(vga)?.[1] ?? null;
  }
  if (agentEnabled(vm.config.current)) status.agent = 1;
  return status;
}

/** Rule [recorded ha-create]: a VM that the manager has not processed yet has no state. */
function haStatus({ world }: Runtime, vm: Vm): Record<string, unknown> {
  if (!isHaManaged(world, vm.vmid)) return { managed: 0 };
  return { managed: 1, state: world.ha.services.get(`vm:${vm.vmid}`)?.state ?? null };
}

/** Rule [recorded start-no-kvm]: a VM without a name is named after its id. */
export function vmName(vm: Vm): string {
  return vm.config.current.get('name') || `VM ${vm.vmid}`;
}

function uptimeSeconds(process: QemuProcess | undefined, now: Instant): number {
  return process ? Math.floor((now - process.startedAt) / 1000) : 0;
}

/** Rule [assumed]: a running guest uses two fifths of its memory. */
export function usedBytes(vm: Vm): number {
  return vm.process ? Math.floor(configFacts(vm.config.current).maxmem * 0.4) : 0;
}

type Config = Vm['config']['current'];

/** What the status takes from a configuration, which does not change as long as the object is the same. */
interface ConfigFacts {
  readonly maxmem: number;
  readonly maxdisk: number;
  readonly balloon: number;
  readonly hasSerial: boolean;
  /** `0` for `net0`. */
  readonly nics: readonly string[];
}

const factsByConfig = new WeakMap<Config, ConfigFacts>();

/** A list of thousands of VMs reads the same facts repeatedly. */
function configFacts(config: Config): ConfigFacts {
  const known = factsByConfig.get(config);
  if (known) return known;
  const keys = [...config.keys()];
  const facts: ConfigFacts = {
    maxmem: memoryBytes(config),
    maxdisk: bootDiskBytes(config),
    balloon: Number(config.get('balloon') ?? 0),
    hasSerial: keys.some((key) => /^serial\d+$/.test(key)),
    nics: keys.flatMap((key) => /^net(\d+)$/.exec(key)?.[1] ?? []),
  };
  factsByConfig.set(config, facts);
  return facts;
}

/** Rule [source QS QemuServer.pm vmstatus]: never more than the node has, unless `vcpus` says so. */
export function cpuCount(runtime: Runtime, vm: Vm): number {
  const config = vm.config.current;
  const configured = Number(config.get('sockets') ?? 1) * Number(config.get('cores') ?? 1);
  const vcpus = Number(config.get('vcpus') ?? 0);
  return vcpus > 0 ? vcpus : Math.min(configured, runtime.world.nodes.get(vm.node)?.cpus ?? configured);
}

/** Rule [source QS QemuServer/Drive.pm bootdisk_size]: `size=` of the first disk in the boot order, else 0. */
export function bootDiskBytes(config: ReadonlyMap<string, string>): number {
  const order = parseBootOrder(config.get('boot'));
  const devices = order?.kind === 'order' ? order.devices : [config.get('bootdisk') ?? ''];
  for (const key of devices) {
    if (!isDriveKey(key)) continue;
    const drive = parseDrive(key, config.get(key) ?? '');
    if (drive && !drive.isCdrom) return parseSize(drive.options.get('size') ?? '') ?? 0;
  }
  return 0;
}

const NO_PRESSURE = {
  pressurecpufull: 0,
  pressurecpusome: 0,
  pressureiofull: 0,
  pressureiosome: 0,
  pressurememoryfull: 0,
  pressurememorysome: 0,
};

/** Rule [assumed]: broadcasts of others reach the card from the start on, a few bytes a second. */
const RECEIVED_BYTES_PER_SECOND = 60;
/** Rule [assumed]: the guest first asks for an address, then sends a few bytes a second. */
const FIRST_PACKET_BYTES = 342;
const SENT_BYTES_PER_SECOND = 40;

/**
 * Rule [source QS QemuServer.pm vmstatus]: counted live at the host's end of the cable. So nothing is sent before there is
 * an operating system that does; that this is when its network is up, and no packet earlier, is assumed.
 */
function traffic(vm: Vm, now: Instant): { readonly netin: number; readonly netout: number } {
  const { process } = vm;
  if (!process || configFacts(vm.config.current).nics.length === 0) return { netin: 0, netout: 0 };
  const netin = uptimeSeconds(process, now) * RECEIVED_BYTES_PER_SECOND;
  if (!guestState(process, now).networkUp) return { netin, netout: 0 };
  const sentForSeconds = Math.floor((now - process.guestBootedAt) / 1000);
  return { netin, netout: FIRST_PACKET_BYTES + sentForSeconds * SENT_BYTES_PER_SECOND };
}
