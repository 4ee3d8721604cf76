import { describe, expect, it } from 'vitest';
import { type Address, vmAddress } from '../../base/address.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { waitOrder } from '../../kinds/stack.ts';
import { readinessSchedule } from './schedule.ts';

const A = vmAddress('a');
const B = vmAddress('b');
const C = vmAddress('c');

interface Plan {
  /** Until the VM has been created and started. */
  readonly createMs: number;
  readonly waitMs: number;
  readonly end?: 'fails' | 'was not created';
}

/** Creates all VMs at once and returns when each wait began and ended, in seconds. */
async function rollOut(mode: 'sequential' | 'parallel', plans: readonly (readonly [Address, Plan])[]) {
  const clock = new VirtualClock();
  const start = clock.now();
  const schedule = readinessSchedule(
    mode,
    plans.map(([address]) => address),
  );
  const story: Record<string, string> = {};
  await clock.run(() =>
    Promise.all(
      plans.map(async ([address, { createMs, waitMs, end }]) => {
        await clock.sleep(createMs);
        if (end === 'was not created') return schedule.skip(address);
        const wait = schedule.run(address, async () => {
          const begun = clock.now() - start;
          await clock.sleep(waitMs);
          story[address] = `${begun / 1000}-${(clock.now() - start) / 1000}`;
          if (end === 'fails') throw new Error('not ready');
        });
        await wait.catch(() => {});
      }),
    ),
  );
  return story;
}

describe('sequential readiness', () => {
  it('begins a wait when the previous one has ended, while creations continue', async () => {
    const story = await rollOut('sequential', [
      [A, { createMs: 10_000, waitMs: 30_000 }],
      [B, { createMs: 15_000, waitMs: 5_000 }],
      [C, { createMs: 60_000, waitMs: 5_000 }],
    ]);
    expect(story).toEqual({ 'vm.a': '10-40', 'vm.b': '40-45', 'vm.c': '60-65' });
  });

  it('keeps the order even if a later VM exists first', async () => {
    const story = await rollOut('sequential', [
      [A, { createMs: 50_000, waitMs: 5_000 }],
      [B, { createMs: 10_000, waitMs: 5_000 }],
    ]);
    expect(story).toEqual({ 'vm.a': '50-55', 'vm.b': '55-60' });
  });

  it('continues when a wait fails', async () => {
    const story = await rollOut('sequential', [
      [A, { createMs: 1_000, waitMs: 30_000, end: 'fails' }],
      [B, { createMs: 1_000, waitMs: 5_000 }],
    ]);
    expect(story).toEqual({ 'vm.a': '1-31', 'vm.b': '31-36' });
  });

  it('continues when a VM is never created', async () => {
    const story = await rollOut('sequential', [
      [A, { createMs: 20_000, waitMs: 0, end: 'was not created' }],
      [B, { createMs: 1_000, waitMs: 5_000 }],
      [C, { createMs: 1_000, waitMs: 5_000 }],
    ]);
    expect(story).toEqual({ 'vm.b': '20-25', 'vm.c': '25-30' });
  });

  it('does not let a VM overtake two that do not exist yet', async () => {
    const story = await rollOut('sequential', [
      [A, { createMs: 30_000, waitMs: 5_000 }],
      [B, { createMs: 1_000, waitMs: 0, end: 'was not created' }],
      [C, { createMs: 1_000, waitMs: 5_000 }],
    ]);
    expect(story).toEqual({ 'vm.a': '30-35', 'vm.c': '35-40' });
  });

  it('passes on the result of a wait', async () => {
    const schedule = readinessSchedule('sequential', [A]);
    await expect(schedule.run(A, () => Promise.reject(new Error('not ready')))).rejects.toThrow('not ready');
    expect(await schedule.run(B, async () => 'unlisted')).toBe('unlisted');
  });

  it('lets a canceled VM leave the queue without its turn, and those behind it continue', async () => {
    const schedule = readinessSchedule('sequential', [A, B, C]);
    const abort = new AbortController();
    const canceled = schedule.run(B, async () => 'never', abort.signal);
    const last = schedule.run(C, async () => 'last');
    abort.abort();
    await expect(canceled).rejects.toMatchObject({ code: 'CANCELED' });
    schedule.skip(A);
    expect(await last).toBe('last');
  });
});

describe('parallel readiness', () => {
  it('begins every wait as soon as its VM exists', async () => {
    const story = await rollOut('parallel', [
      [A, { createMs: 10_000, waitMs: 30_000 }],
      [B, { createMs: 15_000, waitMs: 5_000 }],
    ]);
    expect(story).toEqual({ 'vm.a': '10-40', 'vm.b': '15-20' });
  });
});

describe('waitOrder', () => {
  it('is the order of the file', () => {
    expect(waitOrder([A, B, C].map((address) => ({ address, after: [] })))).toEqual([A, B, C]);
  });

  it('puts a VM behind those in its `after`, whatever their position', () => {
    const vms = [
      { address: A, after: [C] },
      { address: B, after: [] },
      { address: C, after: [] },
    ];
    expect(waitOrder(vms)).toEqual([C, A, B]);
  });

  it('ends even if VMs wait for each other or for unknown VMs', () => {
    const vms = [
      { address: A, after: [B, vmAddress('stranger')] },
      { address: B, after: [A] },
    ];
    expect(waitOrder(vms)).toEqual([B, A]);
  });
});
