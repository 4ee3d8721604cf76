import { describe, expect, it } from 'vitest';
import { TestBench } from '../../testing/bench.ts';
import { createSnapshot } from '../snapshots/snapshots.ts';
import { hibernateVm } from './hibernate.ts';
import { startVm } from './power.ts';

async function runningVm(qemuPatched: boolean) {
  const bench = new TestBench('hibernate', { qemuPatched });
  const { runtime, node } = bench;
  const vm = bench.addVm(600, { memory: '64', kvm: '0' });
  const start = () => bench.task((task) => startVm(runtime, { node, vmid: 600, task }));
  const hibernate = () => bench.task((task) => hibernateVm(runtime, { node, vmid: 600, task }, 'local'));
  await start();
  return { bench, vm, start, hibernate };
}

const STATE = /^local:600\/vm-600-state-suspend-\d{4}-\d\d-\d\d\.raw$/;

describe('suspending to disk', () => {
  it('ends the process and leaves a lock and a state from which the next start resumes', async () => {
    const { bench, vm, start, hibernate } = await runningVm(true);
    expect((await hibernate()).log.at(-2)).toBe('State saved, quitting');
    expect(vm.process).toBeUndefined();
    expect(vm.config.current.get('lock')).toBe('suspended');
    const state = vm.config.current.get('vmstate') ?? '';
    expect(state).toMatch(STATE);
    expect((await start()).log).toEqual(['Resuming suspended VM', 'Resumed VM, removing state', 'TASK OK']);
    expect(vm.config.current.has('vmstate')).toBe(false);
    const volumes = bench.runtime.world.storages.get('local')?.volumes.get('pve1');
    expect(volumes?.has(state.replace('local:', ''))).toBe(false);
  });

  it('fails if QEMU cannot save memory, and keeps the lock as a warning', async () => {
    const { vm, hibernate } = await runningVm(false);
    expect((await hibernate()).log.slice(1)).toEqual([
      "VM 600 qmp command 'savevm-end' failed - The command savevm-end has not been found",
      "TASK ERROR: VM 600 qmp command 'savevm-start' failed - The command savevm-start has not been found",
    ]);
    expect(vm.process).toBeDefined();
    expect(vm.config.current.get('lock')).toBe('suspending');
    expect(vm.config.current.has('vmstate')).toBe(false);
  });
});

describe('a snapshot of a running VM if QEMU lacks the patches', () => {
  it('fails halfway and stays locked', async () => {
    const { bench, vm } = await runningVm(false);
    const { runtime, node } = bench;
    const record = await bench.task((task) =>
      createSnapshot({ runtime, node, vmid: 600, name: 'aa', task }, { description: undefined, withMemory: false }),
    );
    expect(record.exitStatus).toBe(
      "VM 600 qmp command 'query-savevm' failed - The command query-savevm has not been found",
    );
    expect(vm.config.current.get('lock')).toBe('snapshot');
    expect(vm.config.snapshots.get('aa')?.get('snapstate')).toBe('prepare');
  });
});
