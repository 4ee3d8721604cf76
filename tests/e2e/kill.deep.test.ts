/**
 * The built command is killed (SIGKILL) in the middle of an apply, an update and a destroy: at a request, before the server
 * has acted on it or after. Then it is run again. The result must be that of an uninterrupted run: the same
 * VMs under the same ids, MAC addresses kept, no task twice, no extra volume, no lock, an empty plan.
 *
 * It takes some points of each; PROXWRIGHT_KILL_POINTS=all takes every request, a number takes that many.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Simulator } from '../../src/simulator/index.ts';
import { effectiveTasks } from '../support/effective-tasks.ts';
import { ensureBuilt } from './built-command.ts';
import {
  type Moment,
  openScene,
  run,
  runUntilKilled,
  type Scene,
  spread,
  writeStack as write,
} from './lethal-server.ts';

const ASKED = process.env.PROXWRIGHT_KILL_POINTS ?? '2';
const SAMPLES = ASKED === 'all' ? Number.POSITIVE_INFINITY : Number(ASKED);
/** In each phase. Phases run side by side too: most of the time is spent waiting for processes. */
const SIDE_BY_SIDE = 2;

const stack = (memory: string, size: string, vlan: number) => `
version: 1
stack: killed
defaults:
  node: pve1
  clone: { template: ubuntu-24.04, mode: full }
  nics: { net0: { bridge: vmbr1, vlan: ${vlan} } }
vms:
  web:
    count: 5
    name: web-\${number}
    vmids: 501-509
    memory: ${memory}
    disks: { scsi0: { size: ${size} } }
    tags: [web]
    restart: when_needed
rollout: { limits: { clones_per_node: 5, clones_per_storage: 5 } }
`;
const FIRST = stack('1GiB', '4GiB', 20);
const CHANGED = stack('3GiB', '6GiB', 30);

/** What is compared of the world: VMs without generated values, volumes, locks, and the number of tasks; one fact per line. */
function viewOf(simulator: Simulator): string[] {
  const vms = [...simulator.world.vms.values()].map((vm) => {
    const config = [...vm.config.current].filter(([key]) => !/^(smbios1|vmgenid|meta|description)$/.test(key));
    const text = config
      .map(([key, value]) => `${key}: ${value.replace(/(?:[0-9A-F]{2}:){5}[0-9A-F]{2}/g, 'MAC')}`)
      .sort();
    return [`on ${vm.node}, ${vm.process ? 'running' : 'stopped'}`, ...text].map((fact) => `VM ${vm.vmid} ${fact}`);
  });
  const volumes = [...simulator.world.storages.values()].flatMap((storage) =>
    [...storage.volumes.values()].flatMap((each) =>
      [...each.values()].map((volume) => `volume ${storage.id}:${volume.name} ${volume.sizeBytes}`),
    ),
  );
  const types = effectiveTasks(simulator.world).map(({ type }) => type);
  const tasks = [...new Set(types)].map((type) => `${types.filter((each) => each === type).length} × ${type}`);
  return [...vms.flat(), ...volumes, ...tasks].sort();
}

/** Line by line, so that a failure shows what differs. */
function differences(found: readonly string[], expected: readonly string[]): string[] {
  return [
    ...expected.filter((line) => !found.includes(line)).map((line) => `missing: ${line}`),
    ...found.filter((line) => !expected.includes(line)).map((line) => `too much: ${line}`),
  ];
}

/** NICs of the VMs that are whole, with the addresses that the server drew for them. */
function macsOf(simulator: Simulator): Map<string, string> {
  const whole = [...simulator.world.vms.values()].filter(({ config }) => !config.current.has('lock'));
  return new Map(
    whole.flatMap(({ vmid, config }) =>
      [...config.current].flatMap(([key, value]) => {
        const [mac] = /(?:[0-9A-F]{2}:){5}[0-9A-F]{2}/.exec(value) ?? [];
        return mac === undefined ? [] : [[`${vmid} ${key}`, mac] as const];
      }),
    ),
  );
}

interface Phase {
  readonly name: string;
  /** Brings the scene to where the killed command starts. */
  readonly prepare: (scene: Scene) => Promise<void>;
  readonly command: readonly string[];
}

const PHASES: readonly Phase[] = [
  { name: 'apply', prepare: (scene) => write(scene, FIRST), command: ['apply', '--yes'] },
  {
    name: 'update',
    prepare: async (scene) => {
      await write(scene, FIRST);
      expect((await run(scene, 'apply', '--yes')).code).toBe(0);
      await write(scene, CHANGED);
    },
    command: ['apply', '--yes'],
  },
  {
    name: 'destroy',
    prepare: async (scene) => {
      await write(scene, FIRST);
      expect((await run(scene, 'apply', '--yes')).code).toBe(0);
    },
    command: ['destroy', '--yes', '--stop'],
  },
];

describe.concurrent.each(PHASES)('$name, killed', ({ name, prepare, command }) => {
  let expected: ReturnType<typeof viewOf>;
  let requests = 0;

  beforeAll(async () => {
    ensureBuilt();
    const scene = await openScene();
    try {
      await prepare(scene);
      scene.server.requests = 0;
      const end = await run(scene, ...command);
      expect(end.code, end.stderr).toBe(0);
      requests = scene.server.requests;
      expected = viewOf(scene.server.simulator);
    } finally {
      await scene.close();
    }
  });

  /** Whether the point was reached; what goes wrong after it is thrown. */
  async function kill(killAt: number, moment: Moment): Promise<boolean> {
    const scene = await openScene();
    try {
      await prepare(scene);
      if (!(await runUntilKilled(scene, command, killAt, moment))) return false;
      const macs = macsOf(scene.server.simulator);
      const resumed = await run(scene, ...command);
      expect(resumed.code, `${resumed.stdout}${resumed.stderr}`).toBe(0);
      const wrong = differences(viewOf(scene.server.simulator), expected);
      expect(wrong, [...wrong, resumed.stdout, resumed.stderr].join('\n')).toEqual([]);
      if (name === 'destroy') return true;
      const after = macsOf(scene.server.simulator);
      for (const [nic, mac] of macs) expect(`${nic} ${after.get(nic)}`).toBe(`${nic} ${mac}`);
      const plan = await run(scene, 'plan', '--exit-code');
      expect(plan.code, plan.stdout).toBe(0);
      return true;
    } finally {
      await scene.close();
    }
  }

  it('ends as without the kill, whether the request took effect or not', async () => {
    const left = spread(requests, SAMPLES).flatMap((at): [number, Moment][] => [
      [at, 'before'],
      [at, 'after'],
    ]);
    const total = left.length;
    const failures: string[] = [];
    const worker = async () => {
      for (let next = left.shift(); next; next = left.shift()) {
        const [at, moment] = next;
        const isReached = await kill(at, moment).catch((error: unknown) => {
          failures.push(`${moment} request ${at}: ${error instanceof Error ? error.message : String(error)}`);
          return true;
        });
        // A run on a busy machine asks less often how its tasks are, and may end before the point: it is struck earlier.
        if (!isReached) left.push([Math.ceil(at / 2), moment]);
      }
    };
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
    process.stdout.write(`${name}: ${requests} requests; killed at ${total} points, ${failures.length} failed\n`);
    expect(failures).toEqual([]);
  });
});
