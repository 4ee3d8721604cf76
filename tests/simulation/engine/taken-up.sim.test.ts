/** A run that only resumes what an earlier one left, and then has nothing else to do, or is refused. */
import { expect, it } from 'vitest';
import { openSteps } from '../../../src/state/events.ts';
import { unfinishedRuns } from '../../../src/state/journal.ts';
import { readRecorded } from '../../../src/state/recorded.ts';
import { Scene } from './support/scene.ts';

const STACK = `
version: 1
stack: lab
vms:
  web: { name: web, node: pve1, vmid: 401, power: stopped, clone: { template: ubuntu-24.04 } }
`;

it('ends its journal, so that no unfinished run is reported', async () => {
  const whole = new Scene();
  await whole.apply(STACK);
  const cloned = whole.points.findIndex((point) => point.includes('/clone'));
  expect(cloned).toBeGreaterThan(0);

  const scene = new Scene();
  scene.killAt = cloned + 2;
  expect((await scene.apply(STACK)).kind).toBe('killed');
  expect(await unfinishedRuns(scene.store)).toHaveLength(1);
  await scene.plan(STACK);
  expect(await unfinishedRuns(scene.store)).toEqual([]);
  expect(scene.logs.filter((line) => line.includes('checking how it ended'))).toHaveLength(1);
});

it('forgets an id that a killed run had reserved and not used yet', async () => {
  const whole = new Scene();
  await whole.apply(STACK);
  const learned = whole.points.findIndex((point) => point.startsWith('after append learned'));
  expect(whole.points.slice(0, learned).join('\n')).not.toContain('/clone');

  const scene = new Scene();
  scene.killAt = learned + 1;
  expect((await scene.apply(STACK)).kind).toBe('killed');
  const [run] = await unfinishedRuns(scene.store);
  expect(openSteps(run?.events ?? []).map(({ action }) => action)).toEqual(['vm.reserve']);
  expect((await readRecorded(scene.store, 'lab')).state.vms['vm.web']).toMatchObject({ vmid: 401, phase: 'creating' });
  await scene.plan(STACK);
  expect((await readRecorded(scene.store, 'lab')).state.vms).toEqual({});
});
