/**
 * Random estates in groups with random limits, changed at random, half of them killed on the way: the world itself is asked at
 * every request and event, on its own clock, how many members of each group do not answer. Never more than the group allows.
 */
import { describe, expect, it } from 'vitest';
import { guestState } from '../../../src/simulator/guests/guest.ts';
import { seededRandom } from '../../../src/simulator/index.ts';
import { byDepth, IS_ALL } from '../../support/depth.ts';
import { beforehand, complaintsAfter, failuresOf } from './support/invariants.ts';
import { Scene } from './support/scene.ts';

interface Group {
  readonly name: string;
  readonly count: number;
  readonly limit: number | string;
  readonly atMost: number;
  readonly after: string | undefined;
  readonly change: 'restart' | 'replace' | 'none';
}

const LIMITS: readonly (number | string)[] = [1, 2, 3, '34%', '50%', '5%'];

function estate(seed: number): { readonly groups: readonly Group[]; readonly killAt: number | undefined } {
  const random = seededRandom(`estate ${seed}`);
  const draw = (count: number) => Math.floor(random.next() * count);
  const largest = IS_ALL ? 10 : 4;
  const groups = Array.from({ length: 1 + draw(3) }, (_, index): Group => {
    const count = index === 0 ? 3 + draw(largest - 2) : 1 + draw(largest);
    const limit = LIMITS[draw(LIMITS.length)] ?? 1;
    // Computed here on purpose, not by the code under test.
    const atMost =
      typeof limit === 'number' ? limit : Math.max(1, Math.floor((count * Number(limit.slice(0, -1))) / 100));
    const after = index > 0 && draw(2) === 0 ? `g${index - 1}` : undefined;
    const change = (['restart', 'replace', 'none'] as const)[index === 0 ? draw(2) : draw(3)] ?? 'none';
    return { name: `g${index}`, count, limit, atMost, after, change };
  });
  return { groups, killAt: draw(2) === 0 ? 20 + draw(400) : undefined };
}

function stackOf(groups: readonly Group[], isChanged: boolean): string {
  const lines = groups.map(({ name, count, limit, after, change }, index) => {
    const memory = isChanged && change === 'restart' ? '2GiB' : '1GiB';
    const order = after === undefined ? '' : `, after: [${after}]`;
    return `  ${name}: { count: ${count}, name: "${name}-\${number}", vmids: ${500 + index * 20}-${519 + index * 20}, memory: ${memory}, update: { max_unavailable: ${limit} }${order} }`;
  });
  return `
version: 1
stack: lab
defaults: { node: pve1, guest: cloud-init, clone: { template: ubuntu-24.04, mode: linked }, restart: when_needed }
vms:
${lines.join('\n')}
rollout: { readiness: parallel, limits: { clones_per_node: 9, clones_per_storage: 9, vms: 30 } }
`;
}

async function complaintsOf(seed: number): Promise<string[]> {
  const { groups, killAt } = estate(seed);
  const scene = new Scene({ seed });
  const before = beforehand(scene);
  const found = failuresOf(await scene.apply(stackOf(groups, false)));
  await scene.clock.advance(120_000);
  const most = new Map<string, number>();
  const look = () => {
    const now = scene.clock.now();
    for (const { name, count } of groups) {
      const names = new Set(Array.from({ length: count }, (_, index) => `${name}-${index + 1}`));
      const there = [...scene.world.vms.values()].filter(({ config }) => names.has(config.current.get('name') ?? ''));
      const up = there.filter(({ process }) => guestState(process, now).agentAnswers).length;
      most.set(name, Math.max(most.get(name) ?? 0, count - up));
    }
  };
  scene.onRequest = look;
  scene.onEvent = look;
  scene.killAt = killAt;
  const replace = groups.flatMap(({ name, change }) => (change === 'replace' ? [`vm.${name}`] : []));
  const end = await scene.apply(stackOf(groups, true), { replace });
  if (end.kind !== 'killed') found.push(...failuresOf(end));
  found.push(...(await complaintsAfter(scene, stackOf(groups, true), before)));
  for (const { name, atMost, change } of groups) {
    const down = most.get(name) ?? 0;
    if (down > (change === 'none' ? 0 : atMost))
      found.push(`${down} members of ${name} were unavailable, not ${atMost}`);
  }
  return found.map((each) => `seed ${seed}: ${each}`);
}

describe('random estates', () => {
  it('never have more members of a group unavailable than it allows, also when a run is killed', async () => {
    const failures: string[] = [];
    for (let seed = 1; seed <= byDepth(2, 8, 1000); seed++) failures.push(...(await complaintsOf(seed)));
    expect(failures.slice(0, 20)).toEqual([]);
  });
});
