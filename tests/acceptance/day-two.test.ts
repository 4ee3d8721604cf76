/** Changes to existing VMs: moving a disk, a snapshot and its rollback, and a restart of a group member by member. */
import { describe, expect } from 'vitest';
import { propertyOf } from '../../src/kinds/vm/config/parts.ts';
import { Account } from './account.ts';
import { openEstate, stackOf, vmOf } from './engine/estate.ts';
import { leftovers } from './engine/leftovers.ts';
import { apply, destroy, plan, snapshot } from './engine/runs.ts';
import { type StepMaker, stepsOf } from './steps.ts';

const GIB = 1024 ** 3;
const POLL_MS = 100;

const account = new Account();
const estate = openEstate(account);

const vm = (vmid = estate.target.ids.first) => estate.server.pve.node(estate.target.node).vm(vmid);

async function expectNoChanges(text: string): Promise<void> {
  const again = await plan(estate.runs, text);
  expect(again).toMatchObject({ ok: true, plan: { steps: [] } });
}

function destroysAll(step: StepMaker, text: () => string): void {
  step('is destroyed and leaves nothing', async () => {
    await destroy(estate.runs, text());
    expect(await leftovers(estate.server.pve, estate.target)).toEqual([]);
    return 'destroyed: ids are free, no volume is left';
  });
}

describe('a disk on another storage', () => {
  let otherStorage: string | undefined;
  const step = stepsOf(account, { label: 'move' });
  const slot = () => (estate.target.disk.slot === 'scsi9' ? 'scsi10' : 'scsi9');
  const text = (storage: string) =>
    stackOf(estate, { web: vmOf(estate, { name: estate.name, disks: { [slot()]: { storage, size: '1GiB' } } }) });
  const present = () => otherStorage ?? estate.target.disk.storage;

  step('is copied there, and nothing of it stays behind', async () => {
    const { target, runs, server } = estate;
    const from = target.disk.storage;
    const storages = await server.pve.node(target.node).storages.list({ content: 'images', enabled: true });
    await apply(runs, text(from));
    const fits = storages.find(({ storage, active, avail }) => storage !== from && active && (avail ?? 0) > 2 * GIB);
    if (!fits) return 'no second storage for images, so nothing was moved';
    const { steps } = await apply(runs, text(fits.storage));
    otherStorage = fits.storage;
    expect(steps.map(({ action }) => action)).toContain('vm.move-disk');
    const { values } = await vm().config.get();
    expect(propertyOf(slot(), values.get(slot())).get('file')).toMatch(new RegExp(`^${fits.storage}:`));
    expect([...values.keys()].filter((key) => key.startsWith('unused'))).toEqual([]);
    const attached = new Set([...values.values()].map((value) => value.split(',')[0]));
    const listed = await server.pve.node(target.node).storage(from).content.list({ vmid: target.ids.first });
    const own = listed.filter(({ vmid }) => vmid === target.ids.first).map(({ volid }) => volid);
    expect(own.filter((volid) => !attached.has(volid))).toEqual([]);
    await expectNoChanges(text(fits.storage));
    return `a disk moved from ${from} to ${fits.storage}, its source is gone, and the plan is empty`;
  });

  destroysAll(step, () => text(present()));
});

describe('a snapshot', () => {
  const step = stepsOf(account, { label: 'snapshot' });
  const text = (memory: string) => stackOf(estate, { web: vmOf(estate, { name: estate.name, memory }) });

  step('is gone back to, and the plan shows what it brought back', async () => {
    const { runs } = estate;
    await apply(runs, text('128MiB'));
    const taken = await snapshot(runs, text('128MiB'), { kind: 'create', name: 'before', memory: false });
    if (!taken.ok) {
      expect(taken.problems.map(({ code }) => code)).toEqual(['CANNOT_SNAPSHOT']);
      return 'disks of this template have no snapshots, which the plan says';
    }
    await apply(runs, text('192MiB'));
    await snapshot(runs, text('192MiB'), { kind: 'rollback', name: 'before', start: true });
    expect((await vm().config.get()).values.get('memory')).toBe('128');
    const drifted = await plan(runs, text('192MiB'));
    expect(drifted.ok && drifted.plan.changes.flatMap(({ differences }) => differences)).toMatchObject([
      { path: 'memory', before: '128MiB', after: '192MiB', by: 'others' },
    ]);
    await apply(runs, text('192MiB'));
    await expectNoChanges(text('192MiB'));
    await snapshot(runs, text('192MiB'), { kind: 'delete', name: 'before' });
    return 'taken, gone back to, shown as a change from outside, corrected, deleted';
  });

  destroysAll(step, () => text('192MiB'));
});

describe('a group of three', () => {
  const missing = () =>
    estate.server.isLive && estate.target.power === 'stopped'
      ? 'it needs guests with the agent: PROXWRIGHT_ACCEPTANCE_POWER=running'
      : undefined;
  const step = stepsOf(account, { label: 'roll', missing });
  const text = (memory: string) =>
    stackOf(estate, {
      member: vmOf(estate, {
        count: 3,
        name: `${estate.name}-\${number}`,
        power: 'running',
        // The one guest of the recorded world that reacts to a shutdown.
        ...(!estate.server.isLive && { clone: { template: 'debian-agent-tpl', mode: 'linked' } }),
        restart: 'when_needed',
        ready: { agent: true },
        memory,
      }),
    });

  step('restarts one member at a time', async () => {
    const { runs, target } = estate;
    await apply(runs, text('512MiB'));
    const down: number[] = [];
    let isDone = false;
    const watched = (async () => {
      while (!isDone) {
        const members = await Promise.all([0, 1, 2].map((index) => vm(target.ids.first + index).status.current()));
        down.push(members.filter(({ status }) => status !== 'running').length);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    })();
    try {
      const { changes } = await apply(runs, text('640MiB'));
      expect(changes.map(({ restarts }) => restarts)).toEqual([true, true, true]);
    } finally {
      isDone = true;
      await watched;
    }
    expect(Math.max(...down)).toBeLessThanOrEqual(1);
    for (const index of [0, 1, 2]) {
      const entries = await vm(target.ids.first + index).pending();
      expect(entries.find(({ key }) => key === 'memory')).toMatchObject({ value: '640' });
    }
    await expectNoChanges(text('640MiB'));
    return `three members restarted; of ${down.length} looks none found two of them down`;
  });

  destroysAll(step, () => text('640MiB'));
});
