import { describe, expect, it } from 'vitest';
import type { Paged } from '../../core/call.ts';
import { dieFault } from '../../http/response.ts';
import type { RawParams } from '../../schema/types.ts';
import { type CallOptions, TestBench } from '../../testing/bench.ts';
import type { SimNode } from '../../world/world.ts';

const LIST = 'GET /nodes/{node}/tasks';
const none = () => false;

async function list(bench: TestBench, params: RawParams, options: CallOptions = {}) {
  const { data, total } = (await bench.ask(LIST, params, options)) as Paged;
  return { tasks: data as Record<string, unknown>[], total };
}

describe('the task list of a node', () => {
  it('hides running tasks unless requested, and shows them with their full token id', async () => {
    const bench = new TestBench();
    bench.runtime.tasks.fork('pve1', 'qmclone', '9000', 'root@pam!test', (task) => task.sleep(5_000));
    await bench.clock.advance(100);
    expect((await list(bench, {})).total).toBe(0);
    const active = await list(bench, { source: 'active' });
    expect(active.tasks).toMatchObject([{ type: 'qmclone', user: 'root@pam!test', status: 'RUNNING', saved: '0' }]);
    expect(active.tasks[0]).not.toHaveProperty('endtime');
    await bench.clock.advance(20_000);
    expect((await list(bench, { source: 'active' })).total).toBe(0);
    const archived = await list(bench, {});
    expect(archived.tasks).toMatchObject([{ user: 'root@pam', tokenid: 'test', status: 'OK' }]);
    expect(archived.tasks[0]).not.toHaveProperty('saved');
  });

  it('filters, counts all matches and returns one page', async () => {
    const bench = new TestBench();
    for (const vmid of ['100', '101', '100', '100']) {
      bench.runtime.tasks.fork('pve1', 'qmstart', vmid, 'root@pam', async () => {
        if (vmid === '101') throw dieFault('no');
      });
      await bench.clock.advance(20_000);
    }
    expect((await list(bench, { vmid: 100, limit: 2 })).tasks).toHaveLength(2);
    expect((await list(bench, { vmid: 100, limit: 2 })).total).toBe(3);
    expect((await list(bench, { limit: 0 })).tasks).toEqual([]);
    expect((await list(bench, { statusfilter: 'error' })).tasks).toMatchObject([{ id: '101', status: 'no' }]);
    expect((await list(bench, { errors: 1 })).total).toBe(1);
    expect((await list(bench, { typefilter: 'qmstop' })).total).toBe(0);
    const starts = (await list(bench, {})).tasks.map((task) => Number(task.starttime));
    expect(starts).toEqual([...starts].sort((a, b) => b - a));
  });

  it('shows a token only its own tasks', async () => {
    const bench = new TestBench();
    for (const user of ['a@pve!one', 'a@pve!two', 'a@pve']) {
      bench.runtime.tasks.fork('pve1', 'qmstart', '100', user, async () => {});
    }
    await bench.clock.advance(20_000);
    const seenBy = async (authid: string) => (await list(bench, {}, { authid, may: none })).total;
    expect(await seenBy('a@pve!one')).toBe(1);
    expect(await seenBy('a@pve')).toBe(3);
    expect(await seenBy('b@pve')).toBe(0);
  });
});

describe('the log of a task', () => {
  it('is paged, and `limit=0` returns all of it', async () => {
    const bench = new TestBench();
    const upid = bench.runtime.tasks.fork('pve1', 'qmclone', '9000', 'root@pam', async (task) => {
      for (let line = 0; line < 80; line++) task.log(`line ${line}`);
    });
    await bench.clock.advance(1_000);
    const read = async (params: RawParams) => {
      const { data, total } = (await bench.ask(`${LIST}/{upid}/log`, { upid, ...params })) as Paged;
      return { lines: data as { n: number; t: string }[], total };
    };
    expect((await read({})).lines).toHaveLength(50);
    expect((await read({ limit: 0 })).lines.at(-1)).toEqual({ n: 81, t: 'TASK OK' });
    expect(await read({ start: 79, limit: 1 })).toEqual({ lines: [{ n: 80, t: 'line 79' }], total: 81 });
    expect(await read({ start: 100 })).toEqual({ lines: [], total: 81 });
  });

  it('belongs to the node that ran the task', async () => {
    const bench = new TestBench();
    const here = bench.runtime.world.nodes.get('pve1') as SimNode;
    bench.runtime.world.nodes.set('pve2', { ...here, name: 'pve2' });
    const upid = bench.runtime.tasks.fork('pve2', 'qmstart', '100', 'root@pam', async () => {});
    await bench.clock.advance(1_000);
    await expect(bench.ask(`${LIST}/{upid}/status`, { upid })).rejects.toMatchObject({
      errors: { upid: 'no such task' },
    });
  });
});

describe('the log of a task', () => {
  it('can be downloaded as a file', async () => {
    const bench = new TestBench();
    const record = await bench.task(async (task) => task.log('one'), 'qmstart');
    const params = { upid: record.upid, download: 1 };
    expect(await bench.ask('GET /nodes/{node}/tasks/{upid}/log', params)).toMatchObject({
      filename: expect.stringMatching(/^task-pve1-qmstart-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.log$/),
      text: 'one\nTASK OK\n',
    });
  });
});
