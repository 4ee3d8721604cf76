/** What an apply and a destroy cost: the figures of docs/performance.md that are counted, so that none of them grows unnoticed. */
import { describe, expect, it } from 'vitest';
import { EngineScene, GUEST } from '../../tools/bench/engine-scene.ts';

const scene = (vms: number) =>
  new EngineScene({ vms, guest: 'cloud-init', guestTimes: GUEST, rollout: { limits: { vms: 50, destroys: 20 } } });

/** Without the parts that differ between runs. */
const shapeOf = (line: string) =>
  line.replace(/UPID[^/]*%3A(\w+)%3A\d+%3A[^/]*/, '$1').replace(/qemu\/1\d{3}/, 'qemu/NEW');

describe('an apply of one VM until it is ready', () => {
  it('sends 25 requests, polls and readiness included', async () => {
    const { requests } = await scene(1).apply();
    expect(requests.map(shapeOf)).toEqual([
      'GET /version',
      'GET /cluster/resources',
      'GET /nodes/pve1/qemu/9000/pending',
      'GET /nodes/pve1/storage',
      'GET /nodes/pve1/network',
      ...Array(4).fill('GET /access/permissions'),
      'POST /nodes/pve1/qemu/9000/clone',
      ...Array(2).fill('GET /nodes/pve1/tasks/qmclone/log'),
      'GET /nodes/pve1/tasks/qmclone/status',
      'GET /nodes/pve1/qemu/NEW/pending',
      'PUT /nodes/pve1/qemu/NEW/config',
      'GET /nodes/pve1/qemu/NEW/pending',
      'PUT /nodes/pve1/qemu/NEW/resize',
      'GET /nodes/pve1/tasks/resize/status',
      // Compared, and started right after that.
      'GET /nodes/pve1/qemu/NEW/pending',
      'POST /nodes/pve1/qemu/NEW/status/start',
      'GET /nodes/pve1/tasks/qmstart/status',
      ...Array(3).fill('GET /nodes/pve1/qemu/NEW/agent/network-get-interfaces'),
      'GET /nodes/pve1/qemu/NEW/agent/get-osinfo',
    ]);
  });
});

describe('each further VM of an apply', () => {
  it('adds at most 15 requests', async () => {
    const [one, ten] = [await scene(1).apply(), await scene(10).apply()];
    expect((ten.requests.length - one.requests.length) / 9).toBeLessThanOrEqual(15);
  });
});

describe('a destroy of 20 running VMs', () => {
  it('takes at most a tenth longer than the slowest shutdown and its deletion', async () => {
    const twenty = scene(20);
    await twenty.apply();
    const elapsedMs = await twenty.destroy();
    const slowestMs = (type: string) => Math.max(...twenty.taskMs(type));
    expect(elapsedMs).toBeLessThanOrEqual(1.1 * (slowestMs('qmshutdown') + slowestMs('qmdestroy')));
  });
});
