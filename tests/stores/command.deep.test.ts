/** Two machines, one stack: the built command with its state in each shared store. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt } from '../e2e/built-command.ts';
import { type Cluster, makeProject, type Project, stackText, startCluster } from '../e2e/project.ts';
import { HTTP, POSTGRES, S3, type StoreScene, saySkipped } from './stores.ts';

const SPEED = 60;
/** With a secret, whose digest every machine must compute alike. */
const MORE = '    cloud_init: { user: ubuntu, password: { env: TEAM_PASSWORD } }\n';
const STACK = stackText({ name: 'team', firstId: 4000, count: 2, more: MORE });
const SECRETS = { TEAM_PASSWORD: 'correct-horse-77' };

for (const kind of [POSTGRES, S3, HTTP]) {
  if (kind.missing !== undefined) saySkipped(`the command with its state in ${kind.name}`, kind.missing);

  describe.skipIf(kind.missing !== undefined)(`a state in ${kind.name}`, () => {
    let cluster: Cluster;
    let scene: StoreScene;
    const projects: Project[] = [];
    /** The same stack as another person has it: a directory of their own, nothing in common but the store. */
    const machine = (environment: NodeJS.ProcessEnv = {}) => {
      const shared = { PROXWRIGHT_STATE: scene.address, ...scene.environment };
      const project = makeProject(STACK, { ...cluster.environment, ...shared, ...SECRETS, ...environment });
      projects.push(project);
      return project;
    };
    const ids = () => [...cluster.world.vms.keys()].filter((id) => id >= 4000 && id < 4100);

    beforeAll(async () => {
      ensureBuilt();
      [cluster, scene] = await Promise.all([startCluster(SPEED), kind.start()]);
    });
    afterAll(async () => {
      for (const project of projects) project.remove();
      await Promise.all([cluster.close(), scene.stop()]);
    });

    it('is the same on every machine, and resumes where another machine was killed', async () => {
      const [here, there] = [machine(), machine()];
      const first = here.start('apply', '--yes');
      await first.said('clon');
      first.process.kill('SIGKILL');
      await first.finished;
      // The process is certainly dead, which this machine can see; another one would wait for the end of the lease.
      const second = await there.run('apply', '--yes', '--lock-timeout', '2m');
      expect(second, second.stderr).toMatchObject({ code: 0 });
      expect(ids()).toEqual([4000, 4001]);
      for (const project of [here, there]) {
        const plan = await project.run('plan', '--exit-code');
        expect(plan, plan.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('No changes') });
      }
      const runs = await here.run('runs', '--json');
      expect(runs, runs.stderr).toMatchObject({ code: 0 });
      const told = (JSON.parse(runs.stdout) as { source: { commandLine: string } }[]).map(({ source }) => source);
      const ofBoth = ['proxwright apply --yes', 'proxwright apply --lock-timeout 2m --yes'];
      expect(told.map(({ commandLine }) => commandLine)).toEqual(kind === HTTP ? ofBoth.slice(0, 1) : ofBoth);
      expect(runs.stderr.includes('these are the runs of this machine')).toBe(kind === HTTP);
    });

    it('moves to a local directory, and the old place says where it went', async () => {
      const person = machine();
      const moved = await person.run('state', 'migrate', '--to', 'local', '--yes');
      expect(moved, moved.stderr).toMatchObject({ code: 0 });
      const refused = await machine().run('plan');
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('[STATE_MOVED]') });
      const local = makeProject(STACK, { ...cluster.environment, ...SECRETS }, person.directory);
      expect(await local.run('plan', '--exit-code')).toMatchObject({ code: 0 });
      expect(await local.run('destroy', '--yes')).toMatchObject({ code: 0 });
      expect(ids()).toEqual([]);
    });
  });
}
