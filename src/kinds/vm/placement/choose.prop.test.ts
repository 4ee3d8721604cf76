import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Choices, chooseNodes } from './choose.ts';
import { type Estate, PlacementLedger, type PlacementNode, type PlacementVm, type Resident } from './ledger.ts';

const GIB = 1024 ** 3;
const RUNS = 200;
const GROUPS = ['control', 'worker', 'db'];
const ZONES = [undefined, 'rack-a', 'rack-b'];

interface Scene {
  readonly vms: readonly PlacementVm[];
  readonly estate: Estate;
}

const nodeArbitrary = (name: string): fc.Arbitrary<PlacementNode> =>
  fc.record({
    name: fc.constant(name),
    zone: fc.constantFrom(...ZONES),
    memory: fc.oneof(
      {
        weight: 5,
        arbitrary: fc.integer({ min: 0, max: 64 }).map((gib) => ({ totalBytes: 64 * GIB, freeBytes: gib * GIB })),
      },
      { weight: 1, arbitrary: fc.constant(undefined) },
    ),
    cores: fc.integer({ min: 0, max: 40 }).map((used) => ({ total: 32, used })),
  });

const groupArbitrary = (nodes: readonly string[], group: string): fc.Arbitrary<PlacementVm[]> =>
  fc
    .record({
      count: fc.integer({ min: 0, max: 7 }),
      rules: fc.record({
        spread: fc.boolean(),
        by: fc.constantFrom('memory' as const, 'cores' as const),
        maxPerNode: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
        keepFree: fc.constantFrom(undefined, { share: 0.1 }, { bytes: 4 * GIB }),
        apartFrom: fc.subarray(GROUPS.filter((other) => other !== group)).filter(({ length }) => length < 2),
      }),
      sizes: fc.array(fc.constantFrom(0, 2, 4, 8, 16), { minLength: 7, maxLength: 7 }),
      usable: fc.subarray([...nodes], { minLength: 1 }),
      diskGib: fc.constantFrom(0, 10, 40),
    })
    .map(({ count, rules, sizes, usable, diskGib }) =>
      Array.from(
        { length: count },
        (_, index): PlacementVm => ({
          address: `vm.${group}[${index + 1}]`,
          group,
          memoryBytes: (sizes[index] ?? 0) * GIB,
          cores: 2,
          rules,
          sites: new Map(
            nodes.map((node) => [
              node,
              usable.includes(node)
                ? {
                    ok: true as const,
                    storage: new Map([
                      [`${node}/local`, diskGib * GIB],
                      ['*/nfs', GIB],
                    ]),
                  }
                : { ok: false as const, why: ['It is offline.'] },
            ]),
          ),
        }),
      ),
    );

const scenes: fc.Arbitrary<Scene> = fc
  .integer({ min: 1, max: 6 })
  .map((count) => Array.from({ length: count }, (_, index) => `pve${index + 1}`))
  .chain((names) =>
    fc
      .record({
        nodes: fc.tuple(...names.map(nodeArbitrary)),
        groups: fc.tuple(...GROUPS.map((group) => groupArbitrary(names, group))),
        residents: fc.array(fc.record({ group: fc.constantFrom(...GROUPS), node: fc.constantFrom(...names) }), {
          maxLength: 5,
        }),
        rooms: fc.array(fc.integer({ min: 0, max: 200 }), { minLength: 7, maxLength: 7 }),
      })
      .map(({ nodes, groups, residents, rooms }) => ({
        vms: groups.flat(),
        estate: {
          nodes,
          residents: residents.map(
            (each, index): Resident => ({ ...each, address: `vm.${each.group}["old-${index}"]` }),
          ),
          rooms: new Map([
            ...names.map((name, index) => [`${name}/local`, (rooms[index] ?? 0) * GIB] as const),
            ['*/nfs', (rooms[6] ?? 0) * GIB] as const,
          ]),
        },
      })),
  );

const scenesAndOrders = scenes.chain((scene) =>
  fc.record({
    scene: fc.constant(scene),
    nodes: fc.shuffledSubarray([...scene.estate.nodes], { minLength: scene.estate.nodes.length }),
    residents: fc.shuffledSubarray([...scene.estate.residents], { minLength: scene.estate.residents.length }),
  }),
);

const nodesOf = ({ chosen }: Choices) => Object.fromEntries([...chosen].map(([address, { node }]) => [address, node]));

/** The estate after every choice. */
function carriedOut({ vms, estate }: Scene, { chosen }: Choices): PlacementLedger {
  const ledger = new PlacementLedger(estate);
  for (const vm of vms) {
    const node = chosen.get(vm.address)?.node;
    if (node !== undefined) ledger.put(vm, node);
  }
  return ledger;
}

function forAll(check: (scene: Scene, choices: Choices) => void, numRuns = RUNS): void {
  fc.assert(
    fc.property(scenes, (scene) => check(scene, chooseNodes(scene.vms, scene.estate))),
    { numRuns },
  );
}

describe('choosing nodes', () => {
  it('gives the same answer in whatever order the cluster lists nodes, guests and storages', () => {
    fc.assert(
      fc.property(scenesAndOrders, ({ scene: { vms, estate }, nodes, residents }) => {
        const turned = vms.map((vm) => ({ ...vm, sites: new Map([...vm.sites].reverse()) }));
        const other = { nodes, residents, rooms: new Map([...estate.rooms].reverse()) };
        expect(chooseNodes(turned, other)).toEqual(
          // A refused VM keeps its list of sites.
          expect.objectContaining({ chosen: chooseNodes(vms, estate).chosen }),
        );
      }),
      { numRuns: RUNS },
    );
  });

  it('places or refuses every VM, and refuses none that still fits somewhere', () => {
    forAll((scene, choices) => {
      const ledger = carriedOut(scene, choices);
      const refused = new Set(choices.refused.map(({ vm }) => vm.address));
      for (const vm of scene.vms) {
        expect(choices.chosen.has(vm.address)).toBe(!refused.has(vm.address));
        if (refused.has(vm.address)) expect(ledger.fitting(vm)).toEqual([]);
      }
      for (const { nodes } of choices.refused) for (const { why } of nodes) expect(why).not.toEqual([]);
    });
  });

  it('never goes beyond the memory, the storage, max_per_node, keep_free or apart_from', () => {
    forAll((scene, choices) => {
      const { estate, vms } = scene;
      const on = (node: string) => vms.filter(({ address }) => choices.chosen.get(address)?.node === node);
      for (const { name, memory } of estate.nodes) {
        const here = on(name);
        for (const { rules, group, memoryBytes } of here) {
          const total = [...here, ...estate.residents.filter(({ node }) => node === name)];
          const members = total.filter((each) => each.group === group).length;
          if (rules.maxPerNode !== undefined) expect(members).toBeLessThanOrEqual(rules.maxPerNode);
          expect(total.filter((each) => rules.apartFrom.includes(each.group))).toEqual([]);
          if (!memory || memoryBytes === 0) continue;
          const { keepFree = { bytes: 0 } } = rules;
          const kept = 'bytes' in keepFree ? keepFree.bytes : memory.totalBytes * keepFree.share;
          expect(here.reduce((sum, each) => sum + each.memoryBytes, 0)).toBeLessThanOrEqual(memory.freeBytes - kept);
        }
      }
      for (const [key, bytes] of estate.rooms) {
        const used = vms.reduce((sum, vm) => {
          const site = vm.sites.get(choices.chosen.get(vm.address)?.node ?? '');
          return sum + (site?.ok ? (site.storage.get(key) ?? 0) : 0);
        }, 0);
        expect(used).toBeLessThanOrEqual(bytes);
      }
    });
  });

  it('spreads a group as evenly as possible: no single VM could be placed better, by zone and then by node', () => {
    forAll((scene, choices) => {
      if (choices.refused.length > 0) return;
      const ledger = carriedOut(scene, choices);
      for (const vm of scene.vms.filter(({ rules }) => rules.spread)) {
        const node = choices.chosen.get(vm.address)?.node;
        if (node === undefined) continue;
        ledger.remove(vm, node);
        const fitting = ledger.fitting(vm);
        ledger.put(vm, node);
        const domain = (name: string) => ledger.zoneOf(name) ?? `node ${name}`;
        for (const other of fitting) {
          const count = domain(other) === domain(node) ? 'countOn' : 'countInZone';
          if (other === node) continue;
          expect(ledger[count](vm.group, node) - ledger[count](vm.group, other)).toBeLessThanOrEqual(1);
        }
      }
    });
  });

  it('repeats the choice of an earlier plan as long as the VM fits there', () => {
    fc.assert(
      fc.property(scenes, fc.integer({ min: 0, max: 60 }), ({ vms, estate }, takenGib) => {
        const before = chooseNodes(vms, estate);
        const kept = new Map(Object.entries(nodesOf(before)));
        expect(nodesOf(chooseNodes(vms, estate, kept))).toEqual(nodesOf(before));
        // Others took memory since; what still fits keeps its node.
        const nodes = estate.nodes.map((node) =>
          node.memory
            ? { ...node, memory: { ...node.memory, freeBytes: node.memory.freeBytes - takenGib * GIB } }
            : node,
        );
        const ledger = new PlacementLedger({ ...estate, nodes });
        const after = chooseNodes(vms, { ...estate, nodes }, kept);
        for (const vm of vms) {
          const node = kept.get(vm.address);
          if (node === undefined || ledger.refusals(vm, node).length > 0) continue;
          expect(after.chosen.get(vm.address)?.node).toBe(node);
          ledger.put(vm, node);
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('finds a node for every VM where placing them one by one, in the order of the file, would fail', () => {
    // Both groups fit only if the first keeps to one zone's nodes; a choice that looks one VM ahead spreads it over all.
    const node = (name: string, gib: number): PlacementNode => ({
      name,
      memory: { totalBytes: 64 * GIB, freeBytes: gib * GIB },
    });
    const nodes = ['pve1', 'pve2', 'pve3'];
    const vm = (group: string, number: number, apartFrom: string[], maxPerNode?: number): PlacementVm => ({
      address: `vm.${group}[${number}]`,
      group,
      memoryBytes: 4 * GIB,
      cores: 2,
      rules: { spread: true, by: 'memory', apartFrom, maxPerNode },
      sites: new Map(nodes.map((name) => [name, { ok: true, storage: new Map() }])),
    });
    const vms = [1, 2, 3].map((n) => vm('control', n, [])).concat([1, 2].map((n) => vm('worker', n, ['control'], 1)));
    const estate = { nodes: nodes.map((name) => node(name, 32)), residents: [], rooms: new Map() };
    const { chosen, refused } = chooseNodes(vms, estate);
    expect(refused).toEqual([]);
    expect([...chosen].map(([address, { node: name }]) => `${address} ${name}`)).toEqual([
      'vm.control[1] pve1',
      'vm.control[2] pve1',
      'vm.control[3] pve1',
      'vm.worker[1] pve2',
      'vm.worker[2] pve3',
    ]);
  });
});
