/** The state as one person handles it: copied, lost, restored, moved to another machine. */
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { runApply } from '../../../src/cli/commands/change/apply.ts';
import { runPlan } from '../../../src/cli/commands/change/plan.ts';
import { runStateBackup, runStateRestore } from '../../../src/cli/commands/state/backup.ts';
import { runStateRecover } from '../../../src/cli/commands/state/recover.ts';
import { type Bench, openBench } from '../support/command-bench.ts';

const PASSWORD = 'correct-horse-battery';
const STACK = (count: number) => `version: 1
stack: lab
vms:
  web:
    count: ${count}
    name: lab-\${number}
    vmids: 601-609
    node: pve1
    guest: cloud-init
    power: stopped
    clone: { template: ubuntu-24.04 }
    memory: 4GiB
    cloud_init: { user: ops, password: { env: OPS_PASSWORD } }
`;

let bench: Bench | undefined;
afterEach(() => bench?.close());

async function applied(count = 2): Promise<Bench> {
  bench = await openBench(STACK(count), [], { OPS_PASSWORD: PASSWORD });
  expect(await apply(bench)).toMatchObject({ code: 0 });
  return bench;
}

const apply = (on: Bench) => on.run((deps) => runApply(undefined, { yes: true }, deps));
const plan = (on: Bench) => on.run((deps) => runPlan({ exitCode: true }, deps));
const backup = (on: Bench, name?: string, options = {}) => on.run((deps) => runStateBackup(name, options, deps));
const restore = (on: Bench, name: string, part = {}) =>
  on.run((deps) => runStateRestore(name, { yes: true }, deps), part);
const recover = (on: Bench) => on.run((deps) => runStateRecover({ yes: true }, deps));
const loseState = (on: Bench) => rmSync(join(on.directory, '.proxwright'), { recursive: true });

describe('a restore', () => {
  it('reports no drift if there is none', async () => {
    const lab = await applied();
    await backup(lab, 'before');
    const { code, said } = await restore(lab, 'before');
    expect({ code, said }).toEqual({
      code: 0,
      said: expect.stringContaining('No drift: the cluster, the file and the restored'),
    });
  });

  it('shows changes since the backup, field by field, and changes nothing', async () => {
    const lab = await applied();
    await backup(lab, 'before');
    await lab.outside.node('pve1').vm(602).config.put({ memory: 2048 });
    const { code, out, said } = await restore(lab, 'before');
    expect(code).toBe(0);
    expect(out).toMatch(/memory {2}2GiB → 4GiB {2}\[changed outside Proxwright, /);
    expect(said).toContain(
      '1 VM differs from the restored state; nothing was changed. To correct this: proxwright apply',
    );
    expect((await lab.outside.node('pve1').vm(602).config.get()).values.get('memory')).toBe('2048');
  });

  it('warns about a VM created since the backup, which recover finds', async () => {
    const lab = await applied(1);
    await backup(lab, 'one');
    lab.write('stack.yaml', STACK(2));
    expect(await apply(lab)).toMatchObject({ code: 0 });
    const { code, said } = await restore(lab, 'one');
    expect(code).toBe(0);
    expect(said).toContain('It does not contain vm.web[2]; the state would forget them.');
    expect(said).toContain('STATE_LOST');
    expect(said).toContain('No plan can be made from this state yet');
    expect(await recover(lab)).toMatchObject({ code: 0 });
    expect(await apply(lab)).toMatchObject({ code: 0 });
    expect(await plan(lab)).toMatchObject({ code: 0, out: 'No changes.' });
  });

  it('works without a cluster', async () => {
    const lab = await applied(1);
    await backup(lab, 'before');
    const { code, said } = await restore(lab, 'before', {
      environment: { PROXMOX_VE_ENDPOINT: 'https://127.0.0.1:9' },
    });
    expect(code).toBe(0);
    expect(said).toContain('The state was not compared with the cluster: Server not reachable.');
    expect(said).toContain('Restored as serial');
  });
});

describe('a backup', () => {
  it('is written to a private file, and restores a lost state from there', async () => {
    const lab = await applied();
    expect(await backup(lab, undefined, { out: 'copy.json' })).toMatchObject({
      code: 0,
      said: expect.stringContaining('proxwright state restore copy.json'),
    });
    expect(statSync(join(lab.directory, 'copy.json')).mode & 0o777).toBe(0o600);
    expect(lab.read('copy.json')).not.toContain(PASSWORD);
    expect(await backup(lab, 'name', { out: 'copy.json' })).toMatchObject({ code: 1 });
    loseState(lab);
    expect(await restore(lab, 'copy.json')).toMatchObject({ code: 0 });
    expect(await apply(lab)).toMatchObject({ code: 0 });
    expect(await plan(lab)).toMatchObject({ code: 0, out: 'No changes.' });
  });
});

describe('another machine', () => {
  it('has an empty plan with a copy of the directory, secrets included', async () => {
    const there = (await applied()).copy();
    expect(await plan(there)).toMatchObject({ code: 0, out: 'No changes.' });
  });

  it('refuses to create everything twice if it has only the stack file, and recovers', async () => {
    const there = (await applied()).copy();
    loseState(there);
    expect(await plan(there)).toMatchObject({ code: 1, said: expect.stringContaining('STATE_LOST') });
    expect(await recover(there)).toMatchObject({ code: 0, out: expect.stringMatching(/vm\.web\[2\] +602 +lab-2/) });
    // The digest of a secret cannot be found again: it is written once more, and then known.
    expect(await plan(there)).toMatchObject({ code: 2, out: expect.stringContaining('cloud_init.password') });
    expect(await apply(there)).toMatchObject({ code: 0 });
    expect(await plan(there)).toMatchObject({ code: 0, out: 'No changes.' });
  });
});
