/** `state migrate` between all stores that this machine can start, in a circle: every place is left once and entered again. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt } from '../e2e/built-command.ts';
import { type Cluster, makeProject, type Project, stackText, startCluster } from '../e2e/project.ts';
import { HTTP, POSTGRES, S3, type StoreScene, saySkipped } from './stores.ts';

const KINDS = [POSTGRES, S3, HTTP];
const STACK = stackText({ name: 'traveller', firstId: 4000, count: 1 });
const LOCAL = 'local';

describe('state migrate', () => {
  let cluster: Cluster;
  let scenes: StoreScene[];
  let home: Project;
  const others: Project[] = [];
  /** The same directory, with its state elsewhere. */
  const at = (address: string) => makeProject(STACK, environmentOf(address), home.directory);
  const environmentOf = (address: string) => ({
    ...cluster.environment,
    ...Object.assign({}, ...scenes.map(({ environment }) => environment)),
    PROXWRIGHT_STATE: address,
  });
  const stranger = (address: string) => {
    const project = makeProject(STACK, environmentOf(address));
    others.push(project);
    return project;
  };

  beforeAll(async () => {
    ensureBuilt();
    for (const { name, missing } of KINDS) if (missing) saySkipped(`moving a state to ${name}`, missing);
    const kinds = KINDS.filter(({ missing }) => missing === undefined);
    [cluster, ...scenes] = await Promise.all([startCluster(60), ...kinds.map((kind) => kind.start())]);
    home = makeProject(STACK, environmentOf(LOCAL));
  });
  afterAll(async () => {
    for (const project of [home, ...others]) project.remove();
    await Promise.all([cluster.close(), ...scenes.map((scene) => scene.stop())]);
  });

  it('moves a state through every store and back to each of them, and stops those who use the old place', async () => {
    expect(await home.run('apply', '--yes')).toMatchObject({ code: 0 });
    expect(await home.run('state', 'backup', 'first')).toMatchObject({ code: 0 });
    const addresses = scenes.map(({ address }) => address);
    const stations = [...addresses, LOCAL, ...addresses.toReversed(), LOCAL];
    let place = LOCAL;
    for (const next of stations) {
      const moved = await at(place).run('state', 'migrate', '--to', next, '--yes', '--json');
      expect(moved, `${place} to ${next}: ${moved.stderr}`).toMatchObject({ code: 0 });
      expect(await at(place).run('plan')).toMatchObject({ code: 1, stderr: expect.stringContaining('[STATE_MOVED]') });
      const plan = await at(next).run('plan', '--exit-code');
      expect(plan, `${next}: ${plan.stderr}`).toMatchObject({ code: 0, stdout: expect.stringContaining('No changes') });
      expect((await at(next).run('state', 'restore')).stdout).toContain('first');
      const runs = JSON.parse((await at(next).run('runs', '--json')).stdout) as { command: string }[];
      expect(runs.filter(({ command }) => command === 'apply')).toHaveLength(1);
      place = next;
    }
  });

  it('lets no recover or restore bring a state back to where it was moved away', async () => {
    const [{ address } = { address: LOCAL }] = scenes;
    expect(await at(LOCAL).run('state', 'migrate', '--to', address, '--yes')).toMatchObject({ code: 0 });
    for (const words of [['recover'], ['restore', 'first'], ['forget', 'vm.web[1]']]) {
      const refused = await at(LOCAL).run('state', ...words, '--yes');
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('[STATE_MOVED]') });
    }
    const left = readFileSync(join(home.directory, '.proxwright/traveller/state.json'), 'utf8');
    expect(JSON.parse(left)).toMatchObject({ movedTo: expect.any(String) });
  });

  it('takes back a state that was lost elsewhere and recovered there', async () => {
    const [{ address } = { address: LOCAL }] = scenes;
    expect(await at(address).run('state', 'migrate', '--to', LOCAL, '--yes')).toMatchObject({ code: 0 });
    rmSync(join(home.directory, '.proxwright/traveller/state.json'));
    expect(await at(LOCAL).run('state', 'recover', '--yes')).toMatchObject({ code: 0 });
    const moved = await at(LOCAL).run('state', 'migrate', '--to', address, '--yes');
    expect(moved, moved.stderr).toMatchObject({ code: 0 });
    expect(await at(address).run('plan', '--exit-code')).toMatchObject({ code: 0 });
  });

  it('puts no other state where one was moved away, and leaves that other state as it was', async () => {
    const [{ address } = { address: LOCAL }] = scenes;
    expect(await at(address).run('state', 'migrate', '--to', LOCAL, '--yes')).toMatchObject({ code: 0 });
    // A second state of the same name, which has never seen the first: without VMs, and with one.
    const empty = stranger(LOCAL);
    const refusal = { code: 1, stderr: expect.stringContaining('This store had another state') };
    expect(await empty.run('state', 'migrate', '--to', address, '--yes')).toMatchObject(refusal);
    expect(existsSync(join(empty.directory, '.proxwright/traveller/state.json'))).toBe(false);
    const other = stranger(LOCAL);
    other.write('stack.yaml', STACK.replace('4000-4008', '4050-4058').replace('traveller-', 'other-'));
    const applied = await other.run('apply', '--yes');
    expect(applied, applied.stderr).toMatchObject({ code: 0 });
    expect(await other.run('state', 'migrate', '--to', address, '--yes')).toMatchObject(refusal);
    expect(await other.run('plan', '--exit-code')).toMatchObject({ code: 0 });
  });
});
