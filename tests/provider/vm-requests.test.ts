/** What a host costs the server through the provider, counted, so that none of it grows unnoticed. */
import { describe, expect, it } from 'vitest';
import { Limiter } from '../../src/base/limiter.ts';
import { hostOf } from './support/kill-everywhere.ts';
import type { Config } from './support/toy-host.ts';
import { VmBench } from './support/vm-bench.ts';

/** What Terraform works on at once. */
const AT_ONCE = 10;

const config = (index: number): Config => ({
  name: `web-${index}`,
  vmid: 1000 + index,
  node: 'pve1',
  clone: { template: 'ubuntu-24.04', mode: 'linked' },
  memory: '512MiB',
  cpu: { cores: 2 },
  stop_on_destroy: true,
});

/** An apply by one process: each VM is planned and then created, some at once. */
async function created(count: number) {
  const bench = new VmBench();
  const { resource } = bench.process();
  const atOnce = new Limiter(AT_ONCE);
  const outcomes = await bench.run(() =>
    Promise.all(
      Array.from({ length: count }, (_, index) => atOnce.run(() => hostOf({ resource }, {}).apply(config(index)))),
    ),
  );
  expect(outcomes.flatMap(({ diagnostics }) => diagnostics)).toEqual([]);
  return bench.requests;
}

/** Nodes, templates, storages, bridges, permissions. */
const HARDLY_CHANGES =
  /^GET \/(nodes$|nodes\/pve\d\/(storage|network)|access\/permissions|nodes\/pve\d\/qemu\/90\d\d\/)/;

describe('each further VM of an apply', () => {
  it('adds at most 14 requests, polls and its plan included, and few for what hardly changes', async () => {
    const [few, many] = [await created(5), await created(20)];
    const perVm = (counted: (line: string) => boolean) =>
      (many.filter(counted).length - few.filter(counted).length) / 15;
    expect(perVm(() => true)).toBeLessThanOrEqual(14);
    expect(perVm((line) => HARDLY_CHANGES.test(line))).toBeLessThanOrEqual(0.5);
  });
});
