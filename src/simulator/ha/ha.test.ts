import { describe, expect, it } from 'vitest';
import { TestBench } from '../testing/bench.ts';
import { stopVm } from '../vm/power/power.ts';
import type { Vm } from '../world/world.ts';
import { requestHaStart, requestHaStop } from './requests.ts';
import { wakeHa } from './rounds.ts';

const CONFIG = { memory: '64', kvm: '0' };
/** The manager's round, the node's round, the work, and the manager's next round. */
const SEEN_MS = 40_000;

function bench(options: Readonly<Record<string, string>> = {}, config: Readonly<Record<string, string>> = CONFIG) {
  const test = new TestBench();
  const runtime = { ...test.runtime, onPowerChange: () => wakeHa(runtime) };
  const vm: Vm = test.addVm(500, config);
  const { ha } = runtime.world;
  const request = (change: Readonly<Record<string, string>>) => {
    ha.resources.set('vm:500', new Map([...(ha.resources.get('vm:500') ?? []), ...Object.entries(change)]));
    wakeHa(runtime);
  };
  const state = () => ha.services.get('vm:500')?.state;
  const tasks = (type: string) => [...runtime.world.tasks.values()].filter((task) => task.type === type);
  request(options);
  return { ...test, test, runtime, vm, ha, request, state, tasks, wait: () => test.clock.advance(SEEN_MS) };
}

describe('the HA manager', () => {
  it('starts resources that should run, and then has nothing left to do', async () => {
    const { vm, wait, state, tasks, clock, runtime } = bench();
    await wait();
    expect(vm.process).toBeDefined();
    expect(state()).toBe('started');
    expect(tasks('qmstart').map(({ user }) => user)).toEqual(['root@pam']);
    await expect(clock.run(() => new Promise(() => {}))).rejects.toMatchObject({ code: 'STALLED' });
    expect(runtime.world.ha.manager?.isActive).toBe(true);
  });

  it('restarts a VM that stopped by itself', async () => {
    const { vm, wait, test, runtime, tasks } = bench();
    await wait();
    await test.task((task) => stopVm(runtime, { node: 'pve1', vmid: 500, task }));
    expect(vm.process).toBeUndefined();
    await wait();
    expect(vm.process).toBeDefined();
    expect(tasks('qmstart')).toHaveLength(2);
  });

  it('leaves ignored and unconfigured resources alone', async () => {
    const { vm, wait, state, request, ha, runtime, test } = bench({ state: 'ignored' });
    await wait();
    expect([state(), vm.process]).toEqual([undefined, undefined]);
    request({ state: 'started' });
    await wait();
    ha.resources.clear();
    wakeHa(runtime);
    await test.task((task) => stopVm(runtime, { node: 'pve1', vmid: 500, task }));
    await wait();
    expect([state(), vm.process]).toEqual([undefined, undefined]);
  });

  it('stops a resource by force on a stop without a timeout, and keeps the requested state', async () => {
    const { vm, wait, state, ha, tasks, test, runtime } = bench();
    await wait();
    await test.task((task) => requestHaStop(runtime, { node: 'pve1', vmid: 500, task }, 0));
    await wait();
    expect([state(), vm.process]).toEqual(['stopped', undefined]);
    expect(ha.resources.get('vm:500')?.get('state')).toBe('stopped');
    expect([tasks('qmstop').length, tasks('qmshutdown').length]).toEqual([1, 0]);
    await test.task((task) => requestHaStart(runtime, { node: 'pve1', vmid: 500, task }));
    await wait();
    expect(vm.process).toBeDefined();
  });

  it('loses a stop request that comes before its first round', async () => {
    const { vm, wait, test, runtime } = bench();
    await test.task((task) => requestHaStop(runtime, { node: 'pve1', vmid: 500, task }, 0));
    await wait();
    expect(vm.process).toBeDefined();
  });

  it('gives up after the allowed number of tries, until the resource is disabled', async () => {
    const { wait, state, tasks, request, clock } = bench(
      { max_restart: '2', max_relocate: '1' },
      { ...CONFIG, net0: 'virtio=BC:24:11:00:00:01,bridge=vmbr9' },
    );
    await clock.advance(150_000);
    expect(state()).toBe('error');
    expect(tasks('qmstart')).toHaveLength(6);
    request({ state: 'disabled' });
    await wait();
    expect(state()).toBe('stopped');
  });
});
