/**
 * Data transfers: every running copy uses the bandwidth of its storages, shared fairly among all copies there. This
 * file only decides how fast each of them is at any moment.
 */
import type { Clock, Instant } from '../../base/clock.ts';
import { isCanceled } from '../../base/errors.ts';
import type { Runtime } from '../core/runtime.ts';

/** Something with a limited capacity that several transfers share. */
export interface Channel {
  readonly key: string;
  readonly bytesPerSecond: number;
}

export interface Transfer {
  readonly channels: readonly Channel[];
  /** Of this transfer alone; Infinity when not limited. */
  readonly limitBytesPerSecond: number;
  doneBytes: number;
  bytesPerSecond: number;
  settledAt: Instant;
  wake: AbortController | undefined;
}

const boards = new WeakMap<Runtime, TransferBoard>();

/** All transfers of one simulator meet on one board. */
export function transferBoard(runtime: Runtime): TransferBoard {
  const existing = boards.get(runtime);
  if (existing) return existing;
  const board = new TransferBoard(runtime.clock);
  boards.set(runtime, board);
  return board;
}

/** No channel and no transfer is faster; keeps the arithmetic finite. */
const FASTEST_BYTES_PER_SECOND = 1e12;

export class TransferBoard {
  readonly #clock: Clock;
  readonly #running = new Set<Transfer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(channels: readonly Channel[], limitBytesPerSecond: number): Transfer {
    const transfer: Transfer = {
      channels,
      limitBytesPerSecond,
      doneBytes: 0,
      bytesPerSecond: 0,
      settledAt: this.#clock.now(),
      wake: undefined,
    };
    this.#running.add(transfer);
    this.#rebalance();
    return transfer;
  }

  stop(transfer: Transfer): void {
    this.#settle(transfer);
    this.#running.delete(transfer);
    this.#rebalance();
  }

  /** Resolves when `bytes` are transferred, or as soon as the signal aborts; `doneBytes` is the progress. */
  async reach(transfer: Transfer, bytes: number, signal?: AbortSignal): Promise<void> {
    const interrupt = () => transfer.wake?.abort();
    signal?.addEventListener('abort', interrupt);
    try {
      this.#settle(transfer);
      while (transfer.doneBytes < bytes && !signal?.aborted) {
        const waitMs = Math.ceil(((bytes - transfer.doneBytes) / transfer.bytesPerSecond) * 1000);
        transfer.wake = new AbortController();
        try {
          await this.#clock.sleep(waitMs, transfer.wake.signal);
        } catch (error) {
          if (!isCanceled(error)) throw error;
        }
        this.#settle(transfer);
      }
    } finally {
      transfer.wake = undefined;
      signal?.removeEventListener('abort', interrupt);
    }
  }

  #settle(transfer: Transfer): void {
    const now = this.#clock.now();
    transfer.doneBytes += (transfer.bytesPerSecond * (now - transfer.settledAt)) / 1000;
    transfer.settledAt = now;
  }

  /** Recomputes all shares; a transfer whose speed changed computes its remaining time again. */
  #rebalance(): void {
    const shares = fairShares([...this.#running]);
    for (const [transfer, bytesPerSecond] of shares) {
      if (bytesPerSecond === transfer.bytesPerSecond) continue;
      this.#settle(transfer);
      transfer.bytesPerSecond = bytesPerSecond;
      transfer.wake?.abort();
    }
  }
}

type Demand = Pick<Transfer, 'channels' | 'limitBytesPerSecond'>;

/** Max-min fairness: the scarcest channel, or the lowest limit, is assigned first; the others share the rest. */
export function fairShares<T extends Demand>(transfers: readonly T[]): Map<T, number> {
  const shares = new Map<T, number>();
  const open = new Set(transfers);
  const left = new Map<string, { bytesPerSecond: number; users: number }>();
  for (const transfer of transfers) {
    for (const { key, bytesPerSecond } of transfer.channels) {
      const channel = left.get(key) ?? { bytesPerSecond, users: 0 };
      channel.users++;
      left.set(key, channel);
    }
  }
  while (open.size > 0) {
    let level = FASTEST_BYTES_PER_SECOND;
    for (const channel of left.values()) {
      if (channel.users > 0) level = Math.min(level, channel.bytesPerSecond / channel.users);
    }
    for (const transfer of open) level = Math.min(level, transfer.limitBytesPerSecond);
    const settled = [...open].filter((transfer) => isBoundAt(transfer, level, left));
    for (const transfer of settled.length > 0 ? settled : open) {
      shares.set(transfer, level);
      open.delete(transfer);
      for (const { key } of transfer.channels) {
        const channel = left.get(key);
        if (!channel) continue;
        channel.users--;
        channel.bytesPerSecond -= level;
      }
    }
  }
  return shares;
}

function isBoundAt(
  transfer: Demand,
  level: number,
  left: ReadonlyMap<string, { readonly bytesPerSecond: number; readonly users: number }>,
): boolean {
  if (transfer.limitBytesPerSecond <= level) return true;
  return transfer.channels.some(({ key }) => {
    const channel = left.get(key);
    return channel !== undefined && channel.bytesPerSecond / channel.users <= level * (1 + 1e-9);
  });
}
