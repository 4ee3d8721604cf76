/** What the provider asks of the server, counted in the simulator: plans without changes, and the making of a VM. */
import { hostOf } from '../../tests/provider/support/kill-everywhere.ts';
import type { Config } from '../../tests/provider/support/toy-host.ts';
import { VmBench } from '../../tests/provider/support/vm-bench.ts';
import type { Figure } from './engine.ts';
import { FIRST_ID, nameOf, plannedWorld } from './planned-world.ts';

const NOOP_SIZES = [1, 50, 500] as const;
/** Of the planned world. */
const NODES = 1;
const MOST_CONSTANT = 4;
const TOGETHER = 5;
/** Those of the engine. */
const ENGINE_REQUESTS = 8;
/** What is told to the host has to be read, and the mark goes with a write of its own. */
const MOST_MORE = 4;

export async function benchProvider(): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const count of NOOP_SIZES) figures.push(await noopPlan(count));
  return [...figures, ...(await creations())];
}

/** True of every VM of the planned world. */
export const plannedConfig = (index: number): Config => ({
  name: nameOf(index),
  node: 'pve1',
  memory: '2GiB',
  cpu: { cores: 2 },
  disks: { scsi0: { size: '8GiB' } },
  nics: { net0: { bridge: 'vmbr0', vlan: 20 } },
  boot: ['scsi0', 'net0'],
  tags: ['bench', 'measured'],
});

/** All resources refreshed and planned at once in a process of their own, as a host does. */
async function noopPlan(count: number): Promise<Figure> {
  const bench = new VmBench({ world: ({ now }) => plannedWorld(count, now) });
  const indices = Array.from({ length: count }, (_, index) => index);
  const { requests, changes } = await bench.run(async () => {
    const { host: importer } = bench.process({ token: 'test' });
    const instances = [];
    for (const index of indices) {
      await importer.import(`pve1/${FIRST_ID + index}`);
      instances.push(importer.instance);
    }
    bench.requests.length = 0;
    const process = bench.process({ token: 'test' });
    const plans = await Promise.all(
      instances.map((instance, index) => hostOf(process, { instance }).plan(plannedConfig(index))),
    );
    const unwanted = plans.filter(({ action, diagnostics }) => action !== 'none' || diagnostics.length > 0);
    return { requests: bench.requests.length, changes: unwanted.length };
  });
  const constant = requests - count - NODES;
  return {
    figure: `provider: requests of a plan without changes, N = ${count} resources on M = ${NODES} node`,
    measured: `${requests} = N + M + ${constant}${changes > 0 ? `, ${changes} with changes` : ''}`,
    aim: 'N + M + a constant',
    isMet: changes === 0 && constant <= MOST_CONSTANT,
  };
}

const NEW: Config = {
  node: 'pve1',
  clone: { template: 'ubuntu-24.04', mode: 'full' },
  cpu: { cores: 4 },
  memory: '8GiB',
  tags: ['bench', 'measured'],
  disks: { scsi0: { size: '20GiB' } },
  nics: { net0: { bridge: 'vmbr0', ipv4: { address: 'dhcp' } } },
  cloud_init: { user: 'admin', dns: { servers: ['10.0.0.1'] } },
  boot: ['scsi0', 'net0'],
};

const isPoll = (line: string) => /\/tasks\/UPID|\/agent\/|\/status\/current$/.test(line);

/** Requests of an apply, without those of its plan, polls and questions about readiness. */
async function creationRequests(count: number): Promise<{ readonly all: number; readonly acts: number }> {
  const bench = new VmBench();
  const { resource } = bench.process({ planChecks: 'off' });
  await bench.run(async () => {
    const names = Array.from({ length: count }, (_, index) => `web-${index + 1}`);
    await Promise.all(names.map((name) => hostOf({ resource }, {}).apply({ ...NEW, name })));
  });
  const lines = bench.requests.filter((line) => !isPoll(line));
  const first = lines.findIndex((line) => line.startsWith('GET /cluster/nextid'));
  return { all: lines.length, acts: lines.length - first };
}

async function creations(): Promise<Figure[]> {
  const [one, many] = [await creationRequests(1), await creationRequests(TOGETHER)];
  const more = one.acts - ENGINE_REQUESTS;
  const each = (many.all - one.all) / (TOGETHER - 1);
  return [
    {
      figure: 'provider: requests for one cloned, resized, configured, started VM (polls and readiness aside)',
      measured: `${one.acts} = the engine’s ${ENGINE_REQUESTS} + ${more}, after ${one.all - one.acts} of the look for leftovers and of the plan`,
      aim: `≤ ${ENGINE_REQUESTS} + ${MOST_MORE}`,
      isMet: more <= MOST_MORE,
    },
    {
      figure: `provider: requests for each further VM of the same apply (${TOGETHER} at once), its plan included`,
      measured: each.toFixed(1),
      aim: 'no more than the first',
      isMet: each <= one.all,
    },
  ];
}
