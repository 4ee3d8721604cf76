/** The cost of a request does not grow with the number of VMs: counted in reads of configurations, not in time. */
import { expect, it } from 'vitest';
import { ADMIN_USER, TestClient } from '../testing/client.ts';

class CountingMap extends Map<string, string> {
  static reads = 0;
  override get(key: string): string | undefined {
    CountingMap.reads++;
    return super.get(key);
  }
  override keys(): ReturnType<Map<string, string>['keys']> {
    CountingMap.reads++;
    return super.keys();
  }
}

it('reads no configuration for a broadcast that no client asks for', async () => {
  const vm = { node: 'pve1', running: true, config: { memory: '64', net0: 'virtio,bridge=vmbr0' } };
  const client = new TestClient({
    users: ADMIN_USER,
    nodes: { pve1: {}, pve2: {} },
    vms: Object.fromEntries(Array.from({ length: 200 }, (_, index) => [1000 + index, vm])),
  });
  for (const each of client.world.vms.values()) {
    each.config = { ...each.config, current: new CountingMap(each.config.current) };
  }
  await client.ask('GET', '/version');
  CountingMap.reads = 0;
  for (let round = 0; round < 10; round++) {
    await client.clock.advance(10_000);
    await client.ask('GET', '/version');
  }
  expect(CountingMap.reads).toBe(0);
  await client.ask('GET', '/cluster/resources');
  expect(CountingMap.reads).toBeGreaterThan(200);
});
