/**
 * Copies a disk of a running VM: QEMU mirrors it while the guest runs, and Proxmox checks the progress once a second.
 * Mirrors qemu-server's BlockJob.pm; clients see only its lines in the task log.
 */
import { formatOfKey, parseProperty } from '../../../pve/wire/index.ts';
import type { Runtime } from '../../core/runtime.ts';
import type { Task } from '../../core/tasks.ts';
import { guestState } from '../../guests/guest.ts';
import { dieFault } from '../../http/response.ts';
import { isReserved } from '../../storage/allocate.ts';
import { setUsedBytes } from '../../storage/catalogue.ts';
import { renderBytes } from '../../storage/image-files.ts';
import { availableBytes } from '../../storage/space.ts';
import { type Channel, transferBoard } from '../../storage/transfers.ts';
import { storageConfig } from '../../storage/volumes.ts';
import type { QemuProcess, Volume } from '../../world/world.ts';
import { errorText } from '../error-text.ts';

/** Jobs that wait, ready, for the others of the same operation. */
export type MirrorJobs = Set<string>;

export interface MirrorInput {
  readonly node: string;
  readonly process: QemuProcess;
  readonly key: string;
  readonly source: Volume;
  readonly target: Volume;
  readonly bwlimitKiB: number | undefined;
  readonly task: Task | undefined;
  readonly log: (line: string) => void;
  readonly jobs: MirrorJobs;
  readonly finish: FinishInput;
}

export interface FinishInput {
  readonly runtime: Runtime;
  readonly process: QemuProcess;
  /** `skip`: leave the job ready, because more disks follow. */
  readonly completion: 'skip' | 'complete';
  /** Whether the copy is for another VM, which ends the mirroring instead of switching over. */
  readonly isForOtherVm: boolean;
  /** The VM's `agent` key. */
  readonly agent: string | undefined;
  readonly log: (line: string) => void;
}

const LOOK_MS = 1_000;

/** Rule [source QS QemuServer/BlockJob.pm blockdev_mirror]. */
export async function mirrorVolume(runtime: Runtime, input: MirrorInput): Promise<void> {
  const { key, log, jobs } = input;
  // Rule [recorded run-clone-and-move]: a QEMU without Proxmox's patches does not say what lies below a drive's throttle.
  if (!runtime.world.version.qemuPatched) throw dieFault(`drive-${key}: throttle node without file child node name!`);
  const limit = input.bwlimitKiB === undefined ? '' : ` with bandwidth limit: ${input.bwlimitKiB} KiB/s`;
  log(`drive mirror is starting for drive-${key}${limit}`);
  const job = jobName(input.process, key);
  jobs.add(job);
  try {
    await watch(runtime, input, job);
    await finishMirrors(jobs, input.finish);
  } catch (error) {
    await cancelMirrors(runtime, jobs, log);
    throw dieFault(`block job (mirror) error: ${errorText(error)}`);
  }
}

/** Rule [source QS QemuServer/BlockJob.pm mirror]: machines older than 10.0 name the job after the drive. */
function jobName(process: QemuProcess, key: string): string {
  const version = /-(\d+)\.\d+/.exec(process.launched.get('machine') ?? '')?.[1];
  return version !== undefined && Number(version) < 10 ? `drive-${key}` : `mirror-${key}`;
}

/** Rule [source QS QemuServer/BlockJob.pm monitor]: a line at once and then every second, until the job is ready. */
async function watch(runtime: Runtime, input: MirrorInput, job: string): Promise<void> {
  const { source, target, task, log, node } = input;
  const { clock } = runtime;
  const board = transferBoard(runtime);
  const limit = input.bwlimitKiB ? input.bwlimitKiB * 1024 : Number.POSITIVE_INFINITY;
  const transfer = board.start(channelsOf(runtime, input), limit);
  const startedAt = clock.now();
  const storage = storageConfig(runtime.world, target.storage);
  const emptyBytes = target.usedBytes;
  try {
    for (;;) {
      await board.reach(transfer, 0);
      const doneBytes = Math.min(source.dataBytes, Math.floor(transfer.doneBytes));
      const share = source.dataBytes === 0 ? 1 : doneBytes / source.dataBytes;
      if (!isReserved(storage)) {
        const usedBytes = emptyBytes + doneBytes;
        // Rule [assumed]: QEMU's words when the target is full.
        if (usedBytes - target.usedBytes > availableBytes(runtime.world, storage, node)) {
          throw dieFault(`${job}: No space left on device (io-status: nospace)`);
        }
        setUsedBytes(storage, node, target, usedBytes);
      }
      log(`${job}: ${progress(source.sizeBytes, share, clock.now() - startedAt)}${share >= 1 ? ', ready' : ''}`);
      if (share >= 1) break;
      await (task ? task.sleep(LOOK_MS) : clock.sleep(LOOK_MS));
    }
  } finally {
    board.stop(transfer);
  }
  target.dataBytes = source.dataBytes;
  target.guest = source.guest;
  target.ctime = clock.now();
}

function progress(sizeBytes: number, share: number, elapsedMs: number): string {
  const percent = (share * 100).toFixed(2);
  const done = renderBytes(Math.floor(sizeBytes * share));
  return `transferred ${done} of ${renderBytes(sizeBytes)} (${percent}%) in ${renderDuration(elapsedMs)}`;
}

/** Rule [source PC Format.pm render_duration]: whole seconds, units of zero left out. */
function renderDuration(elapsedMs: number): string {
  let rest = Math.round(elapsedMs / 1000);
  const parts: string[] = [];
  for (const [unit, length] of [
    ['w', 604_800],
    ['d', 86_400],
    ['h', 3600],
    ['m', 60],
    ['s', 1],
  ] as const) {
    const count = Math.floor(rest / length);
    if (count > 0) parts.push(`${count}${unit}`);
    rest -= count * length;
  }
  return parts.join(' ') || '0s';
}

/**
 * Rule [source QS QemuServer/BlockJob.pm monitor]: when all are ready, a copy for another VM is cut off at one consistent
 * moment — by freezing the guest's file systems, or by stopping the machine —, a move switches the disks over.
 */
export async function finishMirrors(jobs: MirrorJobs, input: FinishInput): Promise<void> {
  const { runtime, log } = input;
  log("all 'mirror' jobs are ready");
  if (input.completion === 'skip') return;
  if (!input.isForOtherVm) {
    for (const job of [...jobs].sort()) log(`${job}: Completing block job...\n${job}: Completed successfully.`);
    await runtime.clock.sleep(LOOK_MS);
    for (const job of [...jobs].sort()) log(`${job}: mirror-job finished`);
    jobs.clear();
    return;
  }
  const isFrozen = await canFreeze(input);
  log(isFrozen ? "issuing guest agent 'guest-fsfreeze-freeze' command" : 'suspend vm');
  await cancelMirrors(runtime, jobs, log);
  log(isFrozen ? "issuing guest agent 'guest-fsfreeze-thaw' command" : 'resume vm');
}

const AGENT_PING_MS = 3_000;

/** Rule [source QS QemuServer/Agent.pm guest_fs_freeze_applicable]: the reason is in the log where it cannot. */
async function canFreeze({ runtime, process, agent, log }: FinishInput): Promise<boolean> {
  const format = formatOfKey('agent');
  const parsed = format && parseProperty(format, agent ?? '');
  const options = parsed?.ok ? parsed.value : undefined;
  if (options?.get('enabled') !== '1' || options.get('freeze-fs') === '0') {
    log('skipping guest filesystem freeze - disabled in VM options');
    return false;
  }
  if (guestState(process, runtime.clock.now()).agentAnswers) return true;
  await runtime.clock.sleep(AGENT_PING_MS);
  log('skipping guest filesystem freeze - agent configured but not running?');
  return false;
}

/** Rule [source QS QemuServer/BlockJob.pm qemu_blockjobs_cancel]. */
export async function cancelMirrors(runtime: Runtime, jobs: MirrorJobs, log: (line: string) => void): Promise<void> {
  if (jobs.size === 0) return;
  for (const job of jobs) log(`${job}: Cancelling block job`);
  await runtime.clock.sleep(LOOK_MS);
  for (const job of jobs) log(`${job}: Done.`);
  jobs.clear();
}

function channelsOf(runtime: Runtime, { source, target, node }: MirrorInput): Channel[] {
  return [...new Set([source.storage, target.storage])].map((id) => {
    const storage = storageConfig(runtime.world, id);
    return { key: storage.shared ? id : `${id}@${node}`, bytesPerSecond: storage.bandwidthBytesPerSecond };
  });
}
