import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Estate, PlacementLedger, type PlacementRules, type PlacementVm } from '../placement/ledger.ts';
import { fewestMoves, type PlacedVm } from './fewest-moves.ts';

const GIB = 1024 ** 3;
const GROUPS = ['control', 'worker'];

interface Scene {
  readonly vms: readonly PlacedVm[];
  readonly estate: Estate;
}

interface Sizes {
  readonly nodes: number;
  readonly members: number;
}

function scenes({ nodes: most, members }: Sizes): fc.Arbitrary<Scene> {
  return fc.integer({ min: 2, max: most }).chain((count) => {
    const names = Array.from({ length: count }, (_, index) => `pve${index + 1}`);
    const group = (name: string) =>
      fc
        .record({
          rules: fc.record<PlacementRules>({
            spread: fc.boolean(),
            by: fc.constant('memory'),
            maxPerNode: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
            keepFree: fc.constantFrom(undefined, { bytes: 4 * GIB }),
            apartFrom: fc.constantFrom<string[]>(
              [],
              GROUPS.filter((other) => other !== name),
            ),
          }),
          places: fc.array(fc.tuple(fc.constantFrom(...names), fc.constantFrom(0, 4, 8)), { maxLength: members }),
          usable: fc.subarray(names, { minLength: 1 }),
        })
        .map(({ rules, places, usable }) =>
          places.map(([node, gib], index): PlacedVm => {
            const sites: PlacementVm['sites'] = new Map(usable.map((each) => [each, { ok: true, storage: new Map() }]));
            const address = `vm.${name}[${index + 1}]`;
            return { vm: { address, group: name, memoryBytes: gib * GIB, cores: 1, rules, sites }, node };
          }),
        );
    return fc
      .record({
        groups: fc.tuple(...GROUPS.map(group)),
        free: fc.array(fc.constantFrom(0, 8, 16, 64), { minLength: count, maxLength: count }),
        zones: fc.array(fc.constantFrom(undefined, undefined, 'rack-a', 'rack-b'), {
          minLength: count,
          maxLength: count,
        }),
      })
      .map(({ groups, free, zones }) => ({
        vms: groups.flat(),
        estate: {
          nodes: names.map((name, index) => ({
            name,
            zone: zones[index],
            memory: { totalBytes: 64 * GIB, freeBytes: (free[index] ?? 0) * GIB },
          })),
          residents: [],
          rooms: new Map<string, number>(),
        },
      }));
  });
}

const forAll = (sizes: Sizes, numRuns: number, check: (scene: Scene) => void) =>
  fc.assert(fc.property(scenes(sizes), check), { numRuns });

/** The score of an assignment: VMs that break a rule, and the squares of the groups over zones and nodes. */
function scoreOf({ vms, estate }: Scene, nodes: readonly string[]): readonly number[] {
  const ledger = new PlacementLedger(estate);
  for (const [index, { vm }] of vms.entries()) ledger.put(vm, nodes[index] ?? '');
  let [broken, zones, hosts] = [0, 0, 0];
  for (const [index, { vm }] of vms.entries()) {
    const node = nodes[index] ?? '';
    ledger.remove(vm, node);
    if (ledger.refusals(vm, node).length > 0) broken++;
    ledger.put(vm, node);
    if (!vm.rules.spread) continue;
    // Summed over members, the count of a place is its square.
    zones += ledger.countInZone(vm.group, node);
    hosts += ledger.countOn(vm.group, node);
  }
  return [broken, zones, hosts];
}

const isNotWorse = (a: readonly number[], b: readonly number[]) => {
  const index = a.findIndex((value, at) => value !== b[at]);
  return index < 0 || (a[index] ?? 0) < (b[index] ?? 0);
};

const assigned = ({ vms }: Scene, moves: ReturnType<typeof fewestMoves>['moves']) =>
  vms.map(({ vm, node }) => moves.findLast(({ address }) => address === vm.address)?.to ?? node);

/**
 * Every assignment that fewer moves than this reach, each of a VM that has not moved, to a node that it then fits on.
 */
function* fewer({ vms, estate }: Scene, most: number): Generator<readonly string[]> {
  const ledger = new PlacementLedger(estate);
  const nodes = vms.map(({ vm, node }) => {
    ledger.put(vm, node);
    return node;
  });
  function* from(left: number): Generator<readonly string[]> {
    yield [...nodes];
    if (left === 0) return;
    for (const [index, { vm, node }] of vms.entries()) {
      if (nodes[index] !== node) continue;
      ledger.remove(vm, node);
      for (const to of ledger.fitting(vm).filter((each) => each !== node)) {
        ledger.put(vm, to);
        nodes[index] = to;
        yield* from(left - 1);
        ledger.remove(vm, to);
        nodes[index] = node;
      }
      ledger.put(vm, node);
    }
  }
  yield* from(most - 1);
}

describe('rebalancing', () => {
  it('moves no VM beyond the room of a node, and each move fits when those before it are done', () => {
    forAll({ nodes: 5, members: 6 }, 400, (scene) => {
      const ledger = new PlacementLedger(scene.estate);
      for (const { vm, node } of scene.vms) ledger.put(vm, node);
      for (const { address, from, to } of fewestMoves(scene.vms, scene.estate).moves) {
        const vm = scene.vms.find((each) => each.vm.address === address)?.vm;
        if (!vm) throw new Error('moved what is not there');
        ledger.remove(vm, from);
        expect(ledger.refusals(vm, to)).toEqual([]);
        ledger.put(vm, to);
      }
    });
  });

  it('finishes in one run: a second one moves nothing', () => {
    forAll({ nodes: 5, members: 6 }, 400, (scene) => {
      const { moves, isPartial } = fewestMoves(scene.vms, scene.estate);
      const nodes = assigned(scene, moves);
      const moved = scene.vms.map(({ vm }, index) => ({ vm, node: nodes[index] ?? '' }));
      if (!isPartial) expect(fewestMoves(moved, scene.estate).moves).toEqual([]);
      expect(new Set(moves.map(({ address }) => address)).size).toBe(moves.length);
    });
  });

  it('reaches its result with the fewest moves', () => {
    forAll({ nodes: 3, members: 3 }, 600, (scene) => {
      const { moves } = fewestMoves(scene.vms, scene.estate);
      if (moves.length === 0) return;
      const reached = scoreOf(scene, assigned(scene, moves));
      for (const nodes of fewer(scene, moves.length)) {
        if (isNotWorse(scoreOf(scene, nodes), reached)) {
          throw new Error(`${moves.length} moves, but ${nodes} is as good: ${scoreOf(scene, nodes)} and ${reached}`);
        }
      }
    });
  });

  it('continues from a shorter way that ends as well, if one more move then ends better', () => {
    const rules: PlacementRules = { spread: false, by: 'memory', apartFrom: [] };
    const placed = (
      name: string,
      gib: number,
      nodes: readonly string[],
      more: Partial<PlacementRules> = {},
    ): PlacedVm => {
      const sites: PlacementVm['sites'] = new Map(nodes.map((each) => [each, { ok: true, storage: new Map() }]));
      const [group = ''] = name.split('[');
      const vm = {
        address: `vm.${name}`,
        group,
        memoryBytes: gib * GIB,
        cores: 1,
        rules: { ...rules, ...more },
        sites,
      };
      return { vm, node: 'pve1' };
    };
    const keepFree = { bytes: 4 * GIB };
    // Only the three workers have to leave pve1; the smaller control plane would fill the room that the first one needs.
    const vms = [
      placed('control[1]', 8, ['pve1', 'pve2']),
      placed('control[2]', 4, ['pve1', 'pve2']),
      placed('worker[1]', 8, ['pve2'], { keepFree }),
      placed('worker[2]', 0, ['pve2'], { keepFree }),
      placed('worker[3]', 4, ['pve2'], { keepFree }),
    ];
    const memory = { totalBytes: 64 * GIB, freeBytes: 16 * GIB };
    const nodes = ['pve1', 'pve2'].map((name) => ({ name, zone: undefined, memory }));
    const { moves, left } = fewestMoves(vms, { nodes, residents: [], rooms: new Map<string, number>() });
    expect(left).toEqual([]);
    expect(moves.map(({ address }) => address).toSorted()).toEqual(['vm.worker[1]', 'vm.worker[2]', 'vm.worker[3]']);
  });

  it('leaves no rule broken that moves can restore, also moves of VMs that only make room', () => {
    forAll({ nodes: 3, members: 2 }, 600, (scene) => {
      const { moves, left, isPartial } = fewestMoves(scene.vms, scene.estate);
      if (left.length === 0 || isPartial) return;
      const after = {
        ...scene,
        vms: scene.vms.map((each, at) => ({ ...each, node: assigned(scene, moves)[at] ?? '' })),
      };
      for (const nodes of fewer(after, scene.vms.length + 1))
        expect(scoreOf(after, nodes)[0], `${nodes}`).toBeGreaterThanOrEqual(left.length);
    });
  });

  it('moves a VM that breaks no rule out of the way of those that can go nowhere else', () => {
    const memory = { totalBytes: 64 * GIB, freeBytes: 64 * GIB };
    const on = (group: string, node: string, sites: readonly string[], apartFrom: readonly string[]): PlacedVm => ({
      vm: {
        address: `vm.${group}`,
        group,
        memoryBytes: 4 * GIB,
        cores: 1,
        rules: { spread: false, by: 'memory', apartFrom },
        sites: new Map(sites.map((each) => [each, { ok: true, storage: new Map() }])),
      },
      node,
    });
    const vms = [on('control', 'pve2', ['pve1', 'pve2', 'pve3'], []), on('worker', 'pve1', ['pve2'], ['control'])];
    const nodes = ['pve1', 'pve2', 'pve3'].map((name) => ({ name, zone: undefined, memory }));
    const { moves, left, isPartial } = fewestMoves(vms, { nodes, residents: [], rooms: new Map() });
    expect(moves.map(({ address, to }) => [address, to])).toEqual([
      ['vm.control', 'pve3'],
      ['vm.worker', 'pve2'],
    ]);
    expect([left, isPartial]).toEqual([[], false]);
  });

  it('leaves a group alone if it is as even as possible', () => {
    forAll({ nodes: 4, members: 5 }, 300, (scene) => {
      const before = scoreOf(
        scene,
        scene.vms.map(({ node }) => node),
      );
      const { moves } = fewestMoves(scene.vms, scene.estate);
      if (moves.length > 0) expect(isNotWorse(before, scoreOf(scene, assigned(scene, moves)))).toBe(false);
    });
  });
});
