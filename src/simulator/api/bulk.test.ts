/** Bulk actions on two nodes, which the recording of one node cannot show: order, concurrency, migration. */
import { beforeEach, describe, expect, it } from 'vitest';
import { ADMIN_USER, TestClient } from '../testing/client.ts';

let client: TestClient;

beforeEach(() => {
  const vm = (startup?: string, onboot = '1') => ({
    node: 'pve1',
    config: { memory: '64', onboot, ...(startup && { startup }) },
  });
  client = new TestClient({
    users: ADMIN_USER,
    cluster: 'lab',
    nodes: { pve1: {}, pve2: {} },
    vms: { 101: vm('2'), 102: vm('order=1,up=5'), 103: vm(), 104: vm(undefined, '0') },
  });
});

const running = () => [...client.world.vms.values()].filter((vm) => vm.process).map(({ vmid }) => vmid);

describe('a bulk action', () => {
  it('starts guests in their start-up order, with their delays', async () => {
    const task = await client.task('POST', '/cluster/bulk-action/guest/start');
    expect(task).toMatchObject({ type: 'bulk-start', id: '', exitStatus: 'OK' });
    expect(task.log).toEqual([
      'Starting all guests',
      'Starting VM 102',
      'Waiting for 5 seconds (startup delay)',
      'Starting VM 101',
      'Starting VM 103',
      'Starting VM 104',
      'TASK OK',
    ]);
    const starts = [...client.world.tasks.values()].filter(({ type }) => type === 'qmstart');
    expect(starts.map(({ id }) => id)).toEqual(['102', '101', '103', '104']);
    expect((starts[1]?.startedAt ?? 0) - (starts[0]?.endedAt ?? 0)).toBeGreaterThanOrEqual(5_000);
  });

  it('runs no more guests at once than requested', async () => {
    await client.task('POST', '/cluster/bulk-action/guest/start', { 'max-workers': 1 });
    const starts = [...client.world.tasks.values()].filter(({ type }) => type === 'qmstart');
    for (const [index, task] of starts.entries()) {
      expect(task.startedAt).toBeGreaterThanOrEqual(starts[index - 1]?.endedAt ?? 0);
    }
    expect(starts).toHaveLength(4);
  });

  it('migrates guests to another node and names those that are already there', async () => {
    const migrate = () => client.task('POST', '/cluster/bulk-action/guest/migrate', { vms: '103', target: 'pve2' });
    expect((await migrate()).exitStatus).toBe('OK');
    expect(client.world.vms.get(103)?.node).toBe('pve2');
    const again = await migrate();
    expect(again.exitStatus).toBe('WARNINGS: 1');
    expect(again.log).toContain('WARN: VM 103 already on pve2, skipping.');
  });
});

describe('the guests of a node', () => {
  it('are started at boot if configured, and stopped in the opposite order', async () => {
    await client.task('POST', '/nodes/pve1/startall');
    expect(running()).toEqual([101, 102, 103]);
    const stop = await client.task('POST', '/nodes/pve1/stopall', { timeout: 1 });
    expect(stop.log).toEqual([
      'Stopping VM 103 (timeout = 1 seconds)',
      'Stopping VM 101 (timeout = 1 seconds)',
      'Stopping VM 102 (timeout = 1 seconds)',
      'TASK OK',
    ]);
    expect(running()).toEqual([]);
  });

  it('need a limit before they are all migrated', async () => {
    await expect(client.ask('POST', '/nodes/pve1/migrateall', { target: 'pve2' })).rejects.toThrow(
      "500 either 'max-workers' parameter or max_workers in datacenter.cfg must be set!",
    );
    const task = await client.task('POST', '/nodes/pve1/migrateall', { target: 'pve2', 'max-workers': 2 });
    expect(task.log).toContain('All jobs finished, used 4 workers in total.');
    expect([...client.world.vms.values()].map(({ node }) => node)).toEqual(['pve2', 'pve2', 'pve2', 'pve2']);
  });
});
