/** Changing processors and memory of a running VM, where its `hotplug` key allows it. */
import { formatOfKey, PropertyValue, parseProperty, printProperty, requiredFormat } from '../../../pve/wire/index.ts';
import { dieFault, paramFault } from '../../http/response.ts';
import { memoryMiB } from '../machine.ts';
import { guestHelps, type HotplugJob } from './hotplug-devices.ts';

/** Rule [source QS QemuServer.pm qemu_cpu_hotplug]: without a number all of them run; removing one needs the guest. */
export async function changeCpus(job: HotplugJob, value: string | undefined): Promise<void> {
  const { current } = job.draft;
  const most = Number(current.get('sockets') ?? 1) * Number(current.get('cores') ?? 1);
  const requested = Number(value ?? most);
  if (requested > most) throw dieFault("you can't add more vcpus than maxcpus");
  for (let running = Number(current.get('vcpus') ?? most); running > requested; running--) {
    if (!guestHelps(job)) {
      await job.context.runtime.clock.sleep(CPU_PATIENCE_MS);
      throw paramFault({ vcpus: `error unplugging cpu${running}` });
    }
    current.set('vcpus', String(running - 1));
  }
}

const CPU_PATIENCE_MS = 6_000;

/** Rule [source QS QemuServer/Memory.pm STATICMEM]: what a VM with memory hotplug has without any module. */
const STATIC_MIB = 1024;
const MODULES_PER_SIZE = 32;
const MODULE_SIZES = 8;
const UNPLUG_STEP_MS = 3_000;
const UNPLUG_STEPS = 7;

/**
 * Rule [source QS QemuServer/Memory.pm qemu_memory_hotplug]: memory comes in modules of growing size, so an addition
 * gives at least the requested size, and a removal leaves at most that. Returns the value to store.
 */
export async function changeMemory(job: HotplugJob, value: string | undefined): Promise<string | undefined> {
  const { current } = job.draft;
  const before = memoryMiB(current.get('memory'));
  const requested = memoryMiB(value);
  if (requested === before) return value;
  const size = moduleMiB(current);
  const fixed = size === 1024 ? STATIC_MIB * Number(current.get('sockets') ?? 1) : STATIC_MIB;
  if (requested < fixed) {
    throw dieFault(`memory can't be lower than ${fixed} MB at /usr/share/perl5/PVE/QemuServer/Memory.pm line 219.`);
  }
  const most = maximumMiB(current);
  if (requested > most) throw dieFault(`you cannot add more memory than max mem ${most} MB!`);
  const steps = moduleSteps(fixed, size);
  const reached =
    requested > before
      ? (steps.find((step) => step.totalMiB >= requested)?.totalMiB ?? requested)
      : await removeModules(job, steps, before, requested);
  const stored = withMemory(value, reached);
  current.set('memory', stored);
  return stored;
}

interface ModuleStep {
  readonly name: string;
  readonly sizeMiB: number;
  readonly totalMiB: number;
}

/** Rule [source QS QemuServer/Memory.pm foreach_dimm]: 32 modules of each size, each size twice the one before. */
function moduleSteps(fixedMiB: number, firstMiB: number): ModuleStep[] {
  const steps: ModuleStep[] = [];
  let totalMiB = fixedMiB;
  for (let index = 0; index < MODULES_PER_SIZE * MODULE_SIZES; index++) {
    const sizeMiB = firstMiB * 2 ** Math.floor(index / MODULES_PER_SIZE);
    totalMiB += sizeMiB;
    steps.push({ name: `dimm${index}`, sizeMiB, totalMiB });
  }
  return steps;
}

async function removeModules(
  job: HotplugJob,
  steps: readonly ModuleStep[],
  beforeMiB: number,
  requestedMiB: number,
): Promise<number> {
  const { clock } = job.context.runtime;
  const plugged = steps.filter((_, index) => (steps[index - 1]?.totalMiB ?? STATIC_MIB) < beforeMiB).reverse();
  let totalMiB = beforeMiB;
  for (const module of plugged) {
    if (totalMiB <= requestedMiB) break;
    job.context.log(`try to unplug memory dimm ${module.name}`);
    if (!guestHelps(job)) {
      await clock.sleep(UNPLUG_STEP_MS * UNPLUG_STEPS);
      throw paramFault({ [module.name]: 'error unplug memory module' });
    }
    await clock.sleep(UNPLUG_STEP_MS);
    totalMiB -= module.sizeMiB;
    job.draft.current.set('memory', withMemory(job.draft.current.get('memory'), totalMiB));
  }
  return totalMiB;
}

function moduleMiB(config: ReadonlyMap<string, string>): number {
  return config.get('hugepages') === '1024' ? 1024 : 512;
}

/** Rule [source QS QemuServer/Memory.pm get_max_mem]. Rule [assumed]: the host's processors have 48 address bits. */
function maximumMiB(config: ReadonlyMap<string, string>): number {
  const format = formatOfKey('cpu');
  const parsed = format && parseProperty(format, config.get('cpu') ?? '');
  const cpu = parsed?.ok ? parsed.value : new PropertyValue();
  const given = cpu.get('phys-bits');
  const hostBits = 48;
  const usesHostBits = given === 'host' || /^(?:host|max)$/.test(cpu.get('cputype') ?? '');
  const bits = given !== undefined && /^\d+$/.test(given) ? Number(given) : usesHostBits ? hostBits : 40;
  return Math.min(2 ** ((bits & ~1) - 21), 4 * 1024 * 1024);
}

function withMemory(text: string | undefined, mebibytes: number): string {
  const format = requiredFormat('memory');
  const parsed = parseProperty(format, text ?? '');
  return printProperty(format, (parsed.ok ? parsed.value : new PropertyValue()).with('current', String(mebibytes)));
}
