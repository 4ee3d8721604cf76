/** On random clusters: the rehearsed plan is the real one, only reads leave, and what was learned predicts the next run. */
import { describe, expect, test } from 'vitest';
import { describeRun } from '../../../src/engine/record/run-record.ts';
import { buildWorld } from '../../../src/simulator/index.ts';
import { readRuns } from '../../../src/state/journal.ts';
import { byDepth } from '../../support/depth.ts';
import { failuresOf } from '../engine/support/invariants.ts';
import { Scene } from '../engine/support/scene.ts';
import { rehearseScene } from './support/bench.ts';
import { randomCluster } from './support/clusters.ts';

const SEEDS = Array.from({ length: byDepth(1, 4, 200) }, (_, index) => index + 1);
/** Of the cluster, of each node, and of each VM that is read: its configuration, and of some the agent. */
const OF_CLUSTER = 14;
const OF_NODE = 6;
const OF_VM = 2;

describe('random clusters', () => {
  test.each(SEEDS)('are rehearsed as they are applied: seed %i', async (seed) => {
    const { world, stack, nodes, readVms } = randomCluster(seed);
    const scene = new Scene({ seed, world: ({ now }) => buildWorld(world, { now }) });
    const first = await rehearseScene(scene, stack);
    expect(first.rehearsal.planDifferences).toEqual([]);
    expect(first.rehearsal.problems).toEqual([]);
    expect(first.reads.sent.filter((line) => !line.startsWith('GET '))).toEqual([]);
    expect(first.reads.sent.length).toBeLessThanOrEqual(OF_CLUSTER + OF_NODE * nodes + OF_VM * readVms);
    expect(failuresOf(await scene.apply(stack))).toEqual([]);
    expect(failuresOf(await scene.destroy(stack))).toEqual([]);
    const { rehearsal } = await rehearseScene(scene, stack);
    expect(rehearsal.planDifferences).toEqual([]);
    expect(failuresOf(await scene.apply(stack))).toEqual([]);
    const journal = (await readRuns(scene.store)).at(-1);
    const actualMs = (journal && describeRun(journal).durationMs) ?? 0;
    const ratio = rehearsal.tookMs / actualMs;
    expect(ratio, `predicted ${rehearsal.tookMs} ms, took ${actualMs} ms`).toBeGreaterThan(0.9);
    expect(ratio, `predicted ${rehearsal.tookMs} ms, took ${actualMs} ms`).toBeLessThan(1.1);
  });
});
