/**
 * A random estate: VMs in groups with random limits, changed at random, half of them killed on the way and some in a storm. The world
 * itself is asked at every request and event, on its own clock, how many members of each group do not answer.
 */
import { guestState } from '../../../../src/simulator/guests/guest.ts';
import { seededRandom } from '../../../../src/simulator/index.ts';
import { IS_SAMPLE } from '../../../support/depth.ts';
import { beforehand, codesOf, complaintsAfter, failuresOf } from './invariants.ts';
import { STRANGERS } from './lab-world.ts';
import { volumesOf } from './picture.ts';
import { Scene, type Snapshot } from './scene.ts';
import { administer, CALM_MS } from './storm.ts';
import { faultsOf, troublesOf } from './troubles.ts';

const CHANGES = ['restart', 'replace', 'move', 'stop', 'none'] as const;

interface Group {
  readonly name: string;
  readonly count: number;
  readonly limit: number | string;
  readonly atMost: number;
  readonly after: string | undefined;
  readonly change: (typeof CHANGES)[number];
  readonly order: 'destroy_first' | 'create_first';
  readonly keeps: boolean;
}

const LIMITS: readonly (number | string)[] = [1, 2, 3, '34%', '50%', '5%'];

interface Estate {
  readonly groups: readonly Group[];
  readonly killAt: number | undefined;
  readonly isStormy: boolean;
}

function estate(seed: number): Estate {
  const random = seededRandom(`estate ${seed}`);
  const draw = (count: number) => Math.floor(random.next() * count);
  const largest = IS_SAMPLE ? 3 : 10;
  const groups = Array.from({ length: 1 + draw(3) }, (_, index): Group => {
    const count = index === 0 ? 3 + draw(largest - 2) : 1 + draw(largest);
    const limit = LIMITS[draw(LIMITS.length)] ?? 1;
    // Computed here on purpose, not by the code under test.
    const atMost =
      typeof limit === 'number' ? limit : Math.max(1, Math.floor((count * Number(limit.slice(0, -1))) / 100));
    const after = index > 0 && draw(2) === 0 ? `g${index - 1}` : undefined;
    const change = CHANGES[draw(index === 0 ? CHANGES.length - 1 : CHANGES.length)] ?? 'none';
    const order = draw(2) === 0 ? 'create_first' : 'destroy_first';
    return {
      name: `g${index}`,
      count,
      limit,
      atMost,
      after,
      change,
      order,
      keeps: order !== 'create_first' && draw(3) === 0,
    };
  });
  return { groups, killAt: draw(2) === 0 ? 20 + draw(400) : undefined, isStormy: draw(5) === 0 };
}

function stackOf(groups: readonly Group[], isChanged: boolean): string {
  const lines = groups.map(({ name, count, limit, after, change, order, keeps }, index) => {
    const does = (each: Group['change']) => isChanged && change === each;
    return [
      `  ${name}: { count: ${count}, name: "${name}-\${number}", vmids: ${500 + index * 20}-${519 + index * 20}`,
      `memory: ${does('restart') ? '2GiB' : '1GiB'}`,
      `cloud_init: { storage: ${does('move') ? 'nfs' : 'local-lvm'} }`,
      ...(does('stop') ? ['power: stopped'] : []),
      ...(keeps ? ['disks: { scsi1: { storage: local-lvm, size: 1GiB, keep: true } }'] : []),
      ...(after === undefined ? [] : [`after: [${after}]`]),
      `update: { max_unavailable: ${limit}, order: ${order} } }`,
    ].join(', ');
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

/** The kept disks get a content each; afterwards every VM must still have its own. */
function marked({ world }: Scene): () => string[] {
  const kept = () =>
    [...world.vms.values()].flatMap(({ config: { current } }) => {
      const file = current.get('scsi1')?.split(',')[0];
      const volume = volumesOf(world).find(({ storage, name }) => `${storage}:${name}` === file);
      return volume ? [{ name: current.get('name') ?? '', volume }] : [];
    });
  const contents = new Map<string, number>();
  for (const [index, { name, volume }] of kept().entries()) {
    volume.dataBytes = 7_000 + index;
    contents.set(name, volume.dataBytes);
  }
  return () => {
    const now = new Map(kept().map(({ name, volume }) => [name, volume.dataBytes]));
    return [...contents].flatMap(([name, content]) =>
      now.get(name) === content ? [] : [`the kept disk of ${name} has ${now.get(name)}, not ${content}`],
    );
  };
}

/** Most members of each group that did not answer at one time. */
function watched(scene: Scene, groups: readonly Group[]): ReadonlyMap<string, number> {
  const most = new Map<string, number>();
  const look = () => {
    const now = scene.clock.now();
    const answering = new Set<string>();
    for (const { config, process } of scene.world.vms.values()) {
      if (guestState(process, now).agentAnswers) answering.add(config.current.get('name') ?? '');
    }
    for (const { name, count } of groups) {
      const names = Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);
      most.set(name, Math.max(most.get(name) ?? 0, names.filter((each) => !answering.has(each)).length));
    }
  };
  scene.onRequest = look;
  scene.onEvent = look;
  return most;
}

function allowed({ change, order, atMost, count }: Group): number {
  if (change === 'none' || (change === 'replace' && order === 'create_first')) return 0;
  // The file asks for it: those that are off stay off.
  return change === 'stop' ? count : atMost;
}

/** What an estate is like before it changes. */
async function standing(seed: number, groups: readonly Group[]): Promise<{ from: Snapshot; found: string[] }> {
  const scene = new Scene({ seed });
  const found = failuresOf(await scene.apply(stackOf(groups, false)));
  await scene.clock.advance(120_000);
  return { from: await scene.snapshot(), found };
}

/** What is wrong after an estate was changed, each with the seed. */
export async function estateComplaints(seed: number): Promise<string[]> {
  const { groups, killAt, isStormy } = estate(seed);
  const { from, found } = await standing(seed, groups);
  const faults = isStormy && { faults: faultsOf(troublesOf(seed), seededRandom(`storm ${seed}`).fork('strikes')) };
  const scene = new Scene({ seed, from, ...faults });
  const before = beforehand(scene, new Set(STRANGERS));
  const lost = marked(scene);
  const most = watched(scene, groups);
  scene.killAt = killAt;
  const replace = groups.flatMap(({ name, change }) => (change === 'replace' ? [`vm.${name}`] : []));
  const end = await scene.apply(stackOf(groups, true), { replace });
  if (isStormy) {
    found.push(...codesOf(end).filter((code) => code === 'INVARIANT'));
    scene.faults.stop();
    await scene.clock.advance(CALM_MS);
    administer(scene);
  } else if (end.kind !== 'killed') found.push(...failuresOf(end));
  found.push(...(await complaintsAfter(scene, stackOf(groups, true), before)), ...lost());
  // In a storm, members also go down because of others.
  for (const group of isStormy ? [] : groups) {
    const down = most.get(group.name) ?? 0;
    if (down > allowed(group)) found.push(`${down} members of ${group.name} were unavailable, not ${allowed(group)}`);
  }
  return found.map((each) => `seed ${seed}: ${each}`);
}
