/**
 * Changing a running VM: which pending changes take effect at once, which stay pending until a restart, which fail.
 * Mirrors `vmconfig_hotplug_pending`; the table of §5.4 of the behaviour notes is this file in words.
 */
import { shuffled } from '../../base/random.ts';
import { equalProperty, formatOfKey, parseProperty } from '../../pve/wire/index.ts';
import type { QemuProcess, Vm } from '../world/world.ts';
import { draftOf, saveConfig } from './config-file.ts';
import { CLOUD_INIT_KEY, isDriveKey, isNetKey } from './config-keys.ts';
import type { ConfigDraft } from './config-text.ts';
import { type Drive, parseDrive } from './drive.ts';
import { parseNic } from './nic.ts';
import { type ApplyContext, deleteOrDetach, registerUnused } from './pending.ts';

/** Rule [source QS QemuServer.pm $fast_plug_option]: no effect on the running machine, so always applied. */
const FAST_KEYS = new Set([
  'description',
  'hookscript',
  'lock',
  'migrate_downtime',
  'migrate_speed',
  'name',
  'onboot',
  'protection',
  'shares',
  'startup',
  'tags',
  'vmstatestorage',
]);

const isFast = (key: string) => FAST_KEYS.has(key) || CLOUD_INIT_KEY.test(key);

/** `apply`: takes effect now; `keep`: stays pending. Failures are thrown. */
type Verdict = 'apply' | 'keep';

interface HotplugJob {
  readonly context: ApplyContext;
  readonly draft: ConfigDraft;
  readonly process: QemuProcess;
  readonly features: ReadonlySet<string>;
}

/** Applies what can be applied among `selection`; returns the problems by key, as the API reports them. */
export async function hotplugPending(
  context: ApplyContext,
  vm: Vm,
  process: QemuProcess,
  selection: ReadonlySet<string>,
): Promise<Record<string, string>> {
  const draft = draftOf(vm.config);
  const errors: Record<string, string> = {};
  for (const [key, value] of [...draft.pending]) {
    if (isFast(key)) commit(draft, key, value);
  }
  const job: HotplugJob = { context, draft, process, features: hotplugFeatures(draft.current.get('hotplug')) };

  for (const key of [...draft.pendingDeletes.keys()].sort()) {
    if (!selection.has(key)) continue;
    const verdict = await judged(errors, key, () => deleteVerdict(job, key, draft.pendingDeletes.get(key) ?? false));
    if (verdict !== 'apply') continue;
    recordCloudInitChange(draft, key, draft.current.get(key), undefined);
    draft.current.delete(key);
    draft.pendingDeletes.delete(key);
  }
  for (const [key, value] of shuffled(context.runtime.random, [...draft.pending])) {
    if (!selection.has(key)) continue;
    const verdict = await judged(errors, key, () => changeVerdict(job, key, value));
    if (verdict === 'apply') commit(draft, key, value);
  }
  // Rule [source QS QemuServer.pm vmconfig_hotplug_pending]: with `cloudinit` hotplug the image is made anew by itself.
  if (job.features.has('cloudinit')) draft.cloudInit = undefined;
  saveConfig(vm, draft);
  return errors;
}

async function judged(
  errors: Record<string, string>,
  key: string,
  decide: () => Promise<Verdict> | Verdict,
): Promise<Verdict> {
  try {
    return await decide();
  } catch (error) {
    errors[key] = `hotplug problem - ${(error instanceof Error ? error.message : String(error)).trimEnd()}\n`;
    return 'keep';
  }
}

function commit(draft: ConfigDraft, key: string, value: string): void {
  recordCloudInitChange(draft, key, draft.current.get(key), value);
  draft.current.set(key, value);
  draft.pending.delete(key);
}

/** Rule [source QS QemuServer.pm parse_hotplug_features]: `1` means the default, `0` none. */
function hotplugFeatures(value = '1'): Set<string> {
  if (value === '0') return new Set();
  return new Set((value === '1' ? 'network,disk,usb' : value).split(/[,;\s]+/).filter(Boolean));
}

async function deleteVerdict(job: HotplugJob, key: string, force: boolean): Promise<Verdict> {
  const { draft, features } = job;
  const current = draft.current.get(key) ?? '';
  if (key === 'hotplug') return /cpu|memory/.test(current) ? 'keep' : 'apply';
  if (key === 'tablet') return features.has('usb') ? 'apply' : 'keep';
  if (/^usb\d+$/.test(key)) return usbHotplug(job) ? 'apply' : 'keep';
  if (key === 'vcpus') return features.has('cpu') ? 'apply' : 'keep';
  if (key === 'memory') return features.has('memory') ? 'apply' : 'keep';
  if (key === 'balloon') return current === '0' ? 'keep' : 'apply';
  if (key === 'cpuunits' || key === 'cpulimit' || isFast(key)) return 'apply';
  if (isNetKey(key)) {
    if (!features.has('network')) return 'keep';
    await unplug(job, key);
    return 'apply';
  }
  if (isDriveKey(key)) {
    if (!features.has('disk') || /^(efidisk|ide|sata|tpmstate)/.test(key)) return 'keep';
    await unplug(job, key);
    await deleteOrDetach(job.context, draft, key, current, force);
    return 'apply';
  }
  return 'keep';
}

async function changeVerdict(job: HotplugJob, key: string, value: string): Promise<Verdict> {
  const { draft, features } = job;
  const current = draft.current.get(key);
  if (key === 'hotplug') return /cpu|memory/.test(`${value} ${current ?? ''}`) ? 'keep' : 'apply';
  if (key === 'tablet') return features.has('usb') ? 'apply' : 'keep';
  if (/^usb\d+$/.test(key)) return usbHotplug(job) ? 'apply' : 'keep';
  if (key === 'vcpus') return features.has('cpu') ? 'apply' : 'keep';
  if (key === 'memory') return features.has('memory') ? 'apply' : 'keep';
  if (key === 'balloon') return (current === '0') === (value === '0') ? 'apply' : 'keep';
  if (key === 'cpuunits' || key === 'cpulimit') return 'apply';
  if (key === 'agent') return agentVerdict(current, value);
  if (isNetKey(key)) return nicVerdict(job, key, current, value);
  if (isDriveKey(key) && key !== 'efidisk0' && key !== 'tpmstate0') return driveVerdict(job, key, current, value);
  return 'keep';
}

/** Rule [source QS QemuServer.pm vmconfig_hotplug_pending]: USB needs the feature and a Linux or modern Windows guest. */
function usbHotplug(job: HotplugJob): boolean {
  const ostype = job.draft.current.get('ostype');
  return job.features.has('usb') && (ostype === 'l26' || ostype === 'win8' || ostype === 'win10' || ostype === 'win11');
}

/** Rule [source QS QemuServer.pm vmconfig_update_agent]: only `fstrim_cloned_disks` changes while the machine runs. */
function agentVerdict(current: string | undefined, value: string): Verdict {
  const format = formatOfKey('agent');
  if (current === undefined || current === '0' || !format) return 'keep';
  const [old, wanted] = [parseProperty(format, current), parseProperty(format, value)];
  if (!old.ok || !wanted.ok) return 'keep';
  const rest = (parsed: typeof old) => parsed.value.without('fstrim_cloned_disks');
  return equalProperty(format, rest(old), rest(wanted)) ? 'apply' : 'keep';
}

/** Rule [source QS QemuServer.pm vmconfig_update_net]: model, MAC, queues, MTU and bridge-or-none need a new device. */
async function nicVerdict(job: HotplugJob, key: string, current: string | undefined, value: string): Promise<Verdict> {
  const [old, wanted] = [current === undefined ? undefined : parseNic(current), parseNic(value)];
  if (old && wanted) {
    const changed = (name: string) => (old.get(name) ?? '') !== (wanted.get(name) ?? '');
    const replug = ['model', 'macaddr', 'queues', 'mtu'].some(changed) || !old.get('bridge') || !wanted.get('bridge');
    if (!replug) return 'apply';
    if (!job.features.has('network')) return 'keep';
    await unplug(job, key);
  }
  return job.features.has('network') ? 'apply' : 'keep';
}

const COLD_DRIVE_OPTIONS = ['aio', 'discard', 'iothread', 'queues', 'product', 'cache', 'ssd', 'vendor', 'ro'];

/** Rule [source QS QemuServer.pm vmconfig_update_disk]. */
async function driveVerdict(
  job: HotplugJob,
  key: string,
  current: string | undefined,
  value: string,
): Promise<Verdict> {
  const drive = parseDrive(key, value);
  const old = current === undefined ? undefined : parseDrive(key, current);
  if (!drive) return 'keep';
  const hotplug = job.features.has('disk');
  if (old) {
    if (mediaOf(drive) !== mediaOf(old)) throw new Error('unable to change media type');
    if (old.isCdrom) {
      if (drive.file === 'none' && old.isCloudInit) await registerUnused(job.context, job.draft, old);
      return 'apply';
    }
    if (drive.file === old.file) {
      const changed = COLD_DRIVE_OPTIONS.some(
        (name) => (drive.options.get(name) ?? '') !== (old.options.get(name) ?? ''),
      );
      return changed ? 'keep' : 'apply';
    }
    if (!hotplug) return 'keep';
    await unplug(job, key);
    await registerUnused(job.context, job.draft, old);
  }
  return hotplug && !/^(ide|sata)/.test(key) ? 'apply' : 'keep';
}

const mediaOf = (drive: Drive) => drive.options.get('media') ?? 'disk';

/** Rule [source QS QemuServer.pm qemu_devicedelverify]: about 5 s of grace. */
const UNPLUG_WAIT_MS = 5_000;

/** Takes a device from the running machine; a guest whose kernel does not run cannot give up a PCI device. */
async function unplug(job: HotplugJob, key: string): Promise<void> {
  if (!job.process.launched.has(key) && !job.draft.current.has(key)) return;
  if (bootDisks(job.draft.current).includes(key)) throw new Error(`can't unplug bootdisk '${key}'`);
  const guest = job.process.guest;
  const bootMs = guest?.bootMs ?? 'never';
  const running = bootMs !== 'never' && job.context.runtime.clock.now() >= job.process.guestBootedAt + bootMs;
  // Rule [assumed]: SCSI disks leave without the guest's help; PCI devices (NIC, virtio disk) need a running kernel.
  if (running || /^scsi/.test(key)) return;
  await job.context.runtime.clock.sleep(UNPLUG_WAIT_MS);
  throw new Error(`error on hot-unplugging device '${key}' - still busy in guest?`);
}

/** Rule [source QS QemuServer/Drive.pm get_bootdisks]. */
function bootDisks(config: ReadonlyMap<string, string>): string[] {
  const order = /(?:^|,)order=([^,]*)/.exec(config.get('boot') ?? '')?.[1];
  if (order !== undefined) return order.split(';').filter(isDriveKey);
  const legacy = config.get('bootdisk');
  return legacy ? [legacy] : [];
}

/**
 * Rule [source QS QemuServer.pm $cloudinit_record_changed]: the image in the drive keeps its old values; the section
 * remembers them for keys changed since, and lists keys that are new.
 */
function recordCloudInitChange(
  draft: ConfigDraft,
  key: string,
  before: string | undefined,
  after: string | undefined,
): void {
  if (!(CLOUD_INIT_KEY.test(key) || key === 'name' || isNetKey(key))) return;
  draft.cloudInit ??= new Map();
  const section = draft.cloudInit;
  const added = new Set((section.get('added') ?? '').split(',').filter(Boolean));
  section.delete('added');
  const recorded = section.get(key);
  if (after !== undefined && recorded !== undefined && after === recorded) {
    section.delete(key);
    added.delete(key);
  } else if (recorded === undefined) {
    if (after === undefined) {
      if (!added.delete(key) && before !== undefined) section.set(key, before);
    } else if (!added.has(key)) {
      if (before !== undefined) section.set(key, before);
      else added.add(key);
    }
  }
  if (added.size > 0) section.set('added', [...added].sort().join(','));
  if (section.size === 0) draft.cloudInit = undefined;
}
