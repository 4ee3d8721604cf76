/**
 * Changes a running VM: which pending changes take effect immediately, which stay pending until a restart, which fail.
 * Mirrors `vmconfig_hotplug_pending`.
 */
import { shuffled } from '../../../base/random.ts';
import { formatOfKey, parseProperty } from '../../../pve/wire/index.ts';
import { isFalse, splitList } from '../../schema/perl-text.ts';
import type { QemuProcess, Vm } from '../../world/world.ts';
import { applyCloudInit } from '../cloudinit.ts';
import { draftOf, saveConfig } from '../config/config-file.ts';
import { CLOUD_INIT_KEY, isDriveKey, isNetKey } from '../config/config-keys.ts';
import type { ConfigDraft } from '../config/config-text.ts';
import { parseDrive } from '../disks/drive.ts';
import { errorText } from '../error-text.ts';
import { changeCpus, changeMemory } from './hotplug-capacity.ts';
import { assertUsbDevice, changeDrive, changeNic, type HotplugJob, unplug, type Verdict } from './hotplug-devices.ts';
import { type ApplyContext, deleteOrDetach } from './pending.ts';

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
  const cloudInitKeys: string[] = [];
  for (const [key, value] of shuffled(context.runtime.random, [...draft.pending])) {
    if (!selection.has(key)) continue;
    let stored = value;
    const verdict = await judged(errors, key, async () => {
      // Rule [source QS QemuServer.pm vmconfig_hotplug_pending]: all other changes first, so that the image has them.
      if (isDriveKey(key) && parseDrive(key, value)?.isCloudInit) {
        cloudInitKeys.push(key);
        return 'keep';
      }
      if (key === 'memory' && job.features.has('memory')) stored = (await changeMemory(job, value)) ?? value;
      return changeVerdict(job, key, value);
    });
    if (verdict === 'apply') commit(draft, key, stored);
  }
  for (const key of cloudInitKeys) await changeCloudInitDrive(job, key, errors);
  saveConfig(vm, draft);
  // Rule [source QS QemuServer.pm vmconfig_hotplug_pending]: with `cloudinit` hotplug the image is regenerated automatically.
  if (job.features.has('cloudinit') && vm.config.cloudInit && vm.config.cloudInit.size > 0) {
    const written = draftOf(vm.config);
    await applyCloudInit(context, written);
    saveConfig(vm, written);
  }
  return errors;
}

/** Rule [source QS QemuServer.pm vmconfig_hotplug_pending]: the image is made before the drive takes it. */
async function changeCloudInitDrive(job: HotplugJob, key: string, errors: Record<string, string>): Promise<void> {
  const { draft, context } = job;
  const value = draft.pending.get(key) ?? '';
  const drive = parseDrive(key, value);
  if (!drive) return;
  const verdict = await judged(errors, key, async () => {
    await applyCloudInit(context, draft, new Map([...draft.current, [key, value]]));
    return changeDrive(job, key, draft.current.get(key), drive);
  });
  if (verdict !== 'apply') return;
  draft.current.set(key, value);
  draft.pending.delete(key);
}

async function judged(
  errors: Record<string, string>,
  key: string,
  decide: () => Promise<Verdict> | Verdict,
): Promise<Verdict> {
  try {
    return await decide();
  } catch (error) {
    errors[key] = `hotplug problem - ${errorText(error)}\n`;
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
  return new Set(splitList(value === '1' ? 'network,disk,usb' : value));
}

async function deleteVerdict(job: HotplugJob, key: string, force: boolean): Promise<Verdict> {
  const { draft, features } = job;
  const current = draft.current.get(key) ?? '';
  if (key === 'hotplug') return /cpu|memory/.test(current) ? 'keep' : 'apply';
  if (key === 'tablet') return features.has('usb') ? 'apply' : 'keep';
  if (/^usb\d+$/.test(key)) return usbHotplug(job) ? 'apply' : 'keep';
  if (key === 'vcpus') return whenEnabled(features.has('cpu'), () => changeCpus(job, undefined));
  if (key === 'balloon') return current === '0' ? 'keep' : 'apply';
  if (isFast(key)) return 'apply';
  if (isNetKey(key)) return whenEnabled(features.has('network'), () => unplug(job, key));
  if (isDriveKey(key)) {
    const isHotpluggable = features.has('disk') && !/^(efidisk|ide|sata|tpmstate)/.test(key);
    return whenEnabled(isHotpluggable, async () => {
      await unplug(job, key);
      await deleteOrDetach(job.context, draft, key, current, force);
    });
  }
  if (key === 'memory') return whenEnabled(features.has('memory'), () => changeMemory(job, undefined));
  return key === 'cpuunits' || key === 'cpulimit' ? 'apply' : 'keep';
}

async function changeVerdict(job: HotplugJob, key: string, value: string): Promise<Verdict> {
  const { draft, features } = job;
  const current = draft.current.get(key);
  if (key === 'hotplug') return /cpu|memory/.test(`${value} ${current ?? ''}`) ? 'keep' : 'apply';
  if (key === 'tablet') return features.has('usb') ? 'apply' : 'keep';
  if (/^usb\d+$/.test(key)) return whenEnabled(usbHotplug(job), () => assertUsbDevice(job, value));
  if (key === 'vcpus') return whenEnabled(features.has('cpu'), () => changeCpus(job, value));
  if (key === 'memory') return features.has('memory') ? 'apply' : 'keep';
  if (key === 'balloon') return (current === '0') === (value === '0') ? 'apply' : 'keep';
  if (key === 'cpuunits' || key === 'cpulimit') return 'apply';
  if (key === 'agent') return agentVerdict(current, value);
  if (isNetKey(key)) return changeNic(job, key, current, value);
  const drive = isDriveKey(key) && key !== 'efidisk0' && key !== 'tpmstate0' ? parseDrive(key, value) : undefined;
  return drive ? changeDrive(job, key, current, drive) : 'keep';
}

async function whenEnabled(isEnabled: boolean, work: () => unknown): Promise<Verdict> {
  if (!isEnabled) return 'keep';
  await work();
  return 'apply';
}

/** Rule [source QS QemuServer.pm vmconfig_hotplug_pending]: USB needs the feature and a Linux or modern Windows guest. */
function usbHotplug(job: HotplugJob): boolean {
  const ostype = job.draft.current.get('ostype');
  return job.features.has('usb') && (ostype === 'l26' || ostype === 'win8' || ostype === 'win10' || ostype === 'win11');
}

/** Rule [source QS QemuServer.pm vmconfig_update_agent]: only `fstrim_cloned_disks` changes while the machine runs. */
function agentVerdict(current: string | undefined, value: string): Verdict {
  if (isFalse(current)) return 'keep';
  const [old, requested] = [agentOptions(current), agentOptions(value)];
  const names = new Set([...old.keys(), ...requested.keys()]);
  names.delete('fstrim_cloned_disks');
  return [...names].every((name) => old.get(name) === requested.get(name)) ? 'apply' : 'keep';
}

/** Rule [source QS QemuServer/Agent.pm parse_guest_agent]: of a disabled agent nothing else counts. */
function agentOptions(text = ''): ReadonlyMap<string, string> {
  const format = formatOfKey('agent');
  const parsed = format && parseProperty(format, text);
  return parsed?.ok && parsed.value.get('enabled') === '1' ? parsed.value.entries : new Map();
}

/**
 * Rule [source QS QemuServer.pm $cloudinit_record_changed]: the image in the drive keeps its old values; the section
 * remembers them for keys changed since, and lists keys that are new. Once there it stays, even with nothing in it.
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
}
