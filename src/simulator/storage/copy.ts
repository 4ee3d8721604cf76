/** Full copies of a volume's data into another volume: how long they take, what they print, how they fail. */
import type { Runtime } from '../core/runtime.ts';
import type { Task } from '../core/tasks.ts';
import { dieFault } from '../http/response.ts';
import type { Storage, Volume } from '../world/world.ts';
import { isReserved } from './allocate.ts';
import { setUsedBytes } from './catalogue.ts';
import { hasFeature } from './features.ts';
import {
  CHUNK_BYTES,
  type ConvertCommand,
  commandFailure,
  convertCommand,
  ddCommand,
  progressLine,
  progressSteps,
} from './image-files.ts';
import { availableBytes, type LogLine } from './space.ts';
import { type Channel, type Transfer, transferBoard } from './transfers.ts';
import { storageConfig, volidOf } from './volumes.ts';

export interface CopyInput {
  readonly node: string;
  readonly source: Volume;
  readonly snapshot?: string;
  readonly target: Volume;
  readonly bwlimitKiB?: number;
  /** Absent in a synchronous call, which cannot be interrupted. */
  readonly task: Task | undefined;
  readonly log: LogLine;
  /** `dd` for EFI disks: no progress, another command line. */
  readonly tool?: 'convert' | 'dd';
}

/** Rule [assumed]: starting the tool and opening both images. */
const START_MS = 30;

export async function copyVolume(runtime: Runtime, input: CopyInput): Promise<void> {
  const { source, target, task, node } = input;
  const board = transferBoard(runtime);
  const storage = storageConfig(runtime.world, target.storage);
  const command = commandOf(runtime, input);
  // Rule [recorded clone-busy-short, clone-busy-config]: only the data counts, for the time and for the limit.
  const dataBytes = source.dataBytes;
  const sizeBytes = source.virtualSizeBytes ?? source.sizeBytes;
  const steps =
    input.tool === 'dd' ? [{ afterBytes: dataBytes, line: undefined }] : progressSteps(sizeBytes, dataBytes);
  const growth = new Growth(runtime, storage, node, target);
  const limit = input.bwlimitKiB ? input.bwlimitKiB * 1024 : Number.POSITIVE_INFINITY;
  await runtime.clock.sleep(START_MS);
  // Rule [observed 9.2.11]: a TPM state that has grown, or an image imported as one, does not fit into the 4 MiB of a new
  // TPM state. `dd` cuts off what is too much.
  if (input.tool !== 'dd' && sizeBytes > target.sizeBytes) {
    input.log(progressLine(target.sizeBytes, 0));
    input.log('qemu-img: output file is smaller than input file');
    throw failure(input, command, 'exit code 1');
  }
  const transfer = board.start(channelsOf(runtime, input), limit);
  try {
    for (const step of steps) {
      await advance(step.afterBytes);
      if (step.line !== undefined) input.log(step.line);
    }
  } finally {
    board.stop(transfer);
  }
  growth.record(dataBytes);
  target.dataBytes = dataBytes;
  target.guest = source.guest;
  target.ctime = runtime.clock.now();

  async function advance(toBytes: number): Promise<void> {
    while (progressOf(transfer, dataBytes) < toBytes) {
      const fullAtBytes = growth.fullAt();
      await board.reach(transfer, Math.min(toBytes, fullAtBytes), task?.signal);
      growth.record(Math.min(progressOf(transfer, dataBytes), fullAtBytes));
      if (task?.signal.aborted) throw failure(input, command, 'interrupted by signal');
      // Rule [recorded clone-no-space]: names the first piece for which there was no space.
      if (fullAtBytes < dataBytes && transfer.doneBytes >= fullAtBytes && growth.fullAt() <= fullAtBytes) {
        input.log(`qemu-img: error while writing at byte ${fullAtBytes}: No space left on device`);
        throw failure(input, command, 'exit code 1');
      }
    }
    if (task?.signal.aborted) throw failure(input, command, 'interrupted by signal');
  }
}

const progressOf = (transfer: Transfer, dataBytes: number) => Math.min(dataBytes, transfer.doneBytes);

/** How a target grows while it is written, and where it runs out of space. */
class Growth {
  readonly #runtime: Runtime;
  readonly #storage: Storage;
  readonly #node: string;
  readonly #target: Volume;
  readonly #initialBytes: number;
  /** Of the initial bytes, those that the data will overwrite: the first block of a raw file. */
  readonly #creditBytes: number;

  constructor(runtime: Runtime, storage: Storage, node: string, target: Volume) {
    this.#runtime = runtime;
    this.#storage = storage;
    this.#node = node;
    this.#target = target;
    this.#initialBytes = target.usedBytes;
    this.#creditBytes = target.format === 'raw' ? target.usedBytes : 0;
  }

  record(writtenBytes: number): void {
    if (isReserved(this.#storage)) return;
    // A rate times a duration is rarely a whole number; a file's length always is.
    const usedBytes = this.#initialBytes + Math.max(0, Math.floor(writtenBytes) - this.#creditBytes);
    if (usedBytes > this.#target.usedBytes) setUsedBytes(this.#storage, this.#node, this.#target, usedBytes);
  }

  /** The first byte, on a boundary of pieces, that can no longer be written. */
  fullAt(): number {
    if (isReserved(this.#storage)) return Number.POSITIVE_INFINITY;
    const ownBytes = this.#target.usedBytes - this.#initialBytes + this.#creditBytes;
    const roomBytes = ownBytes + availableBytes(this.#runtime.world, this.#storage, this.#node);
    return Math.floor(roomBytes / CHUNK_BYTES) * CHUNK_BYTES;
  }
}

function commandOf(runtime: Runtime, input: CopyInput): string[] {
  const command: ConvertCommand = {
    source: { storage: storageConfig(runtime.world, input.source.storage), volume: input.source },
    target: { storage: storageConfig(runtime.world, input.target.storage), volume: input.target },
    snapshot: input.snapshot,
    bwlimitKiB: input.bwlimitKiB,
    isZeroInitialized: hasFeature(runtime.world, input.node, 'sparseinit', volidOf(input.target)),
  };
  return input.tool === 'dd' ? ddCommand(command) : convertCommand(command);
}

/** Rule [source QS QemuServer/QemuImage.pm convert]: `copy failed: ` precedes the command, except for `dd`. */
function failure(input: CopyInput, command: readonly string[], reason: string): Error {
  const error = commandFailure(command, reason);
  return input.tool === 'dd' ? error : dieFault(`copy failed: ${error.message.trimEnd()}`);
}

/** A copy within one storage uses its bandwidth once. */
function channelsOf(runtime: Runtime, input: CopyInput): Channel[] {
  const ids = new Set([input.source.storage, input.target.storage]);
  return [...ids].map((id) => {
    const storage = storageConfig(runtime.world, id);
    return { key: storage.shared ? id : `${id}@${input.node}`, bytesPerSecond: storage.bandwidthBytesPerSecond };
  });
}
