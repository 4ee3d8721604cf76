/** What operators meet: a missing pool, texts with CRLF, a VM that another client started or stopped, and a destroy in reverse order. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { Account } from './account.ts';
import { openEstate, stackOf, vmOf } from './engine/estate.ts';
import { leftovers } from './engine/leftovers.ts';
import { apply, destroy, plan } from './engine/runs.ts';
import { stepsOf } from './steps.ts';

const account = new Account();
const estate = openEstate(account);
const step = stepsOf(account);

/** Three VMs that depend on each other; `fields` are those of the first. */
function text(fields: Readonly<Record<string, unknown>> = {}): string {
  const one = (name: string, more: object) =>
    vmOf(estate, { name: `${estate.name}-${name}`, power: 'stopped', ...more });
  const description = `Made by the acceptance suite ${estate.name}.\r\nIt may be removed.`;
  return stackOf(estate, {
    base: one('base', { description, ...fields }),
    mid: one('mid', { after: ['base'] }),
    top: one('top', { after: ['mid'] }),
  });
}

describe('surprises', () => {
  step('a pool that is missing is found by the plan', async () => {
    const refused = await plan(estate.runs, text({ pool: `${estate.name}-missing` }));
    expect(refused).toMatchObject({
      ok: false,
      problems: [{ code: 'MISSING_REFERENCE', where: { address: 'vm.base' } }],
    });
    expect(await leftovers(estate.server.pve, estate.target)).toEqual([]);
    return 'a missing pool is refused before anything is made';
  });

  step('notes with CRLF are applied once', async () => {
    await apply(estate.runs, text());
    expect(await plan(estate.runs, text())).toMatchObject({ ok: true, plan: { steps: [] } });
    return 'three VMs, one with CRLF in its notes, and the second plan is empty';
  });

  step('a VM that others switched on is shown, and left so', async () => {
    const { pve } = estate.server;
    const vm = pve.node(estate.target.node).vm(estate.target.ids.first);
    await pve.tasks.wait(await vm.status.start());
    const seen = await plan(estate.runs, text());
    expect(seen).toMatchObject({ ok: true, plan: { steps: [] } });
    expect(seen.ok && seen.plan.changes.flatMap(({ outside = [] }) => outside)).toMatchObject([
      { path: 'power', applied: 'stopped', actual: 'running' },
    ]);
    await pve.tasks.wait(await vm.status.stop());
    return 'a VM that others started is named by the plan, and no step touches it';
  });

  step('VMs are destroyed before those that they come after', async () => {
    await destroy(estate.runs, text());
    expect(destroyedInOrder()).toEqual(['vm.top', 'vm.mid', 'vm.base']);
    expect(await leftovers(estate.server.pve, estate.target)).toEqual([]);
    return 'destroyed in the reverse order of their creation, and nothing is left';
  });
});

/** By the journal of the last run: steps that ended, in the order in which they did. */
function destroyedInOrder(): string[] {
  const folder = join(estate.runs.stateDirectory, 'runs');
  const last = readdirSync(folder).sort().at(-1) ?? '';
  return readFileSync(join(folder, last), 'utf8')
    .split('\n')
    .filter((line) => line.includes('"stepDone"') && line.includes('/destroy'))
    .map((line) => /vm\.\w+/.exec(line)?.[0] ?? line);
}
