import { describe, expect, it } from 'vitest';
import type { RawParams } from '../../../schema/types.ts';
import { DEBIAN_DISK, TestBench } from '../../../testing/bench.ts';
import { draftOf, saveConfig } from '../../../vm/config/config-file.ts';
import { startVm } from '../../../vm/power/power.ts';

const BASE = '/nodes/{node}/qemu/{vmid}/agent';
const DEBIAN = { memory: '64', kvm: '0', agent: '1', boot: 'order=scsi0', scsi0: DEBIAN_DISK, name: 'web' };

function bench(config: Readonly<Record<string, string>> = DEBIAN) {
  const world = new TestBench();
  const vm = world.addVm(500, config);
  const ask = (route: string, params: RawParams = {}) => {
    const [method, name] = route.split(' ');
    return world.ask(`${method} ${BASE}/${name}`, { vmid: 500, ...params });
  };
  const start = () => world.task((task) => startVm(world.runtime, { node: 'pve1', vmid: 500, task }));
  return { world, vm, ask, start };
}

async function answering() {
  const setUp = bench();
  await setUp.start();
  await setUp.world.clock.advance(60_000);
  return setUp;
}

describe('the guest agent', () => {
  it('must be configured, the VM must run, and the agent must answer within 3 s', async () => {
    const { world, vm, ask, start } = bench({ memory: '64', kvm: '0' });
    await expect(ask('POST ping')).rejects.toThrow('No QEMU guest agent configured\n');
    const draft = draftOf(vm.config);
    draft.current.set('agent', '0');
    saveConfig(vm, draft);
    await expect(ask('POST ping')).rejects.toThrow('VM 500 is not running\n');
    await start();
    const startedAt = world.clock.now();
    await expect(ask('POST ping')).rejects.toThrow('QEMU guest agent is not running\n');
    expect(world.clock.now() - startedAt).toBe(3_000);
  });

  it('answers once the guest has booted, and not while it is paused', async () => {
    const { vm, ask } = await answering();
    expect(await ask('POST ping')).toEqual({ result: {} });
    expect(await ask('GET get-host-name')).toEqual({ result: { 'host-name': 'debian' } });
    if (vm.process) vm.process.qmpStatus = 'paused';
    await expect(ask('POST ping')).rejects.toThrow('QEMU guest agent is not running\n');
  });

  it('answers a pending request when it comes up', async () => {
    const { world, ask, start, vm } = bench();
    await start();
    const upAt = (vm.process?.guestBootedAt ?? 0) + 38_000 + 6_000;
    await world.clock.advance(upAt - 2_000 - world.clock.now());
    expect(await ask('POST ping')).toEqual({ result: {} });
    expect(world.clock.now() - upAt).toBe(120);
  });

  it('does not answer a request that came too early', async () => {
    const { world, ask, start, vm } = bench();
    await start();
    const upAt = (vm.process?.guestBootedAt ?? 0) + 38_000 + 6_000;
    await world.clock.advance(upAt - 3_000 - world.clock.now());
    await expect(ask('POST ping')).rejects.toThrow('QEMU guest agent is not running\n');
  });

  it('serves one client at a time', async () => {
    const { world, ask } = await answering();
    const startedAt = world.clock.now();
    await Promise.all([ask('POST ping'), ask('POST ping'), ask('POST ping')]);
    expect(world.clock.now() - startedAt).toBe(360);
  });

  it('reports a finished program once', async () => {
    const { world, ask } = await answering();
    const { pid } = (await ask('POST exec', { command: ['/bin/sh', '-c', 'sleep 1; echo hi'] })) as { pid: number };
    expect(await ask('GET exec-status', { pid })).toEqual({ exited: 0 });
    await world.clock.advance(1_000);
    expect(await ask('GET exec-status', { pid })).toEqual({
      exited: 1,
      exitcode: 0,
      'out-data': 'hi\n',
      'out-truncated': 0,
    });
    await expect(ask('GET exec-status', { pid })).rejects.toThrow('Agent error: PID ld does not exist\n');
  });

  it('has the output of a small program ready for the next request', async () => {
    const { ask } = await answering();
    const { pid } = (await ask('POST exec', { command: ['/bin/echo', 'out'] })) as { pid: number };
    expect(await ask('GET exec-status', { pid })).toMatchObject({ exited: 1, exitcode: 0, 'out-data': 'out\n' });
  });

  it('breaks the connection if a program is missing', async () => {
    const { ask } = await answering();
    await expect(ask('POST exec', { command: ['/no/such'] })).rejects.toMatchObject({
      status: 596,
      message: 'Broken pipe',
    });
  });

  it('reads back what was written, in pieces if requested', async () => {
    const { ask } = await answering();
    await ask('POST file-write', { file: '/tmp/x', content: 'hello' });
    expect(await ask('GET file-read', { file: '/tmp/x' })).toEqual({ content: 'hello', 'bytes-read': 5 });
    expect(await ask('GET file-read', { file: '/tmp/x', count: 2, offset: 1 })).toEqual({
      content: 'el',
      'bytes-read': 2,
      truncated: 1,
    });
    await expect(ask('GET file-read', { file: '/nosuch' })).rejects.toThrow(
      "Agent error: failed to open file '/nosuch' (mode: 'r'): No such file or directory",
    );
  });

  it('allows only harmless commands while the file systems are frozen', async () => {
    const { ask } = await answering();
    expect(await ask('POST fsfreeze-freeze')).toEqual({ result: 1 });
    expect(await ask('POST fsfreeze-status')).toEqual({ result: 'frozen' });
    expect(await ask('GET get-osinfo')).toMatchObject({ result: { error: { class: 'CommandNotFound' } } });
    expect(await ask('POST fsfreeze-thaw')).toEqual({ result: 1 });
    expect(await ask('GET get-osinfo')).toMatchObject({ result: { id: 'debian', 'version-id': '13' } });
  });

  it('can power off its own machine', async () => {
    const { world, vm, ask } = await answering();
    await ask('POST shutdown');
    expect(vm.process).toBeDefined();
    await world.clock.advance(5_000);
    expect(vm.process).toBeUndefined();
  });
});
