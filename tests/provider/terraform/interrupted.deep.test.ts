/**
 * Runs that do not reach their end, with a provider that the host has started itself: Ctrl-C, a killed host, a killed
 * provider. One more apply then has the same result as an uninterrupted one.
 *
 * It takes some pairs of a moment and a way; PROXWRIGHT_KILL_POINTS=all takes every pair with every host.
 */
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Installation, Running } from '../../../src/provider/testing/terraform.ts';
import { bundleProvider } from '../../../tools/provider/bundle.ts';
import { IS_ALL } from '../../support/depth.ts';
import { ref, SMALL, SOURCE, vm } from './support/hcl.ts';
import { HOSTS, ONE_HOST } from './support/hosts.ts';
import { hasProcesses, pidOf, providerPidOf } from './support/provider-process.ts';
import { problems, Scene } from './support/scene.ts';

const APPLY = ['apply', '-json', '-input=false', '-auto-approve'];
const VERSION = '0.1.0';

/** Three VMs with disks to grow. */
const THREE = vm('web', {
  count: 3,
  ...SMALL,
  name: `web-${ref('count.index + 1')}`,
  vmid: ref('410 + count.index'),
  cpu: { cores: 4 },
  disks: { scsi0: { size: '4GiB' } },
});

let root: string;
let installed: Installation;
let scene: Scene;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'proxwright-provider-'));
  await bundleProvider(join(root, 'bin', 'terraform-provider-proxwright.cjs'));
  installed = { kind: 'dev-override', directory: join(root, 'bin') };
});

afterEach(() => scene.close());
afterAll(() => rm(root, { recursive: true, force: true }));

type Victim = (running: Running) => void;

const ALONE: readonly (readonly [name: string, strike: Victim])[] = [
  ['kill -9 of the provider', (running) => process.kill(providerPidOf(running), 'SIGKILL')],
];

const VICTIMS: readonly (readonly [name: string, strike: Victim])[] = [
  ['Ctrl-C', (running) => process.kill(-pidOf(running), 'SIGINT')],
  ['kill -9 of the host', (running) => process.kill(pidOf(running), 'SIGKILL')],
  ['kill -9 of both', (running) => process.kill(-pidOf(running), 'SIGKILL')],
  ...(hasProcesses ? ALONE : []),
];

/** Requests at which it happens, when the server has acted on them. */
const MOMENTS: readonly [name: string, line: RegExp][] = [
  ['in the middle of a clone', /^POST .*\/clone$/],
  ['in the middle of configuring', /^PUT .*\/config$/],
  ['when a VM starts', /^POST .*\/status\/start$/],
];

/** Applies and strikes when the request comes that the moment names. */
async function interrupted(strike: Victim, moment: RegExp, command: readonly string[] = APPLY): Promise<void> {
  const running = scene.start(command);
  let isStruck = false;
  scene.after = async (_, line) => {
    if (isStruck || !moment.test(line)) return undefined;
    isStruck = true;
    strike(running);
    return undefined;
  };
  const { code } = await running.result;
  expect(isStruck).toBe(true);
  expect(code).not.toBe(0);
}

describe.each(HOSTS)('an apply under $name $version', (host) => {
  const cases = VICTIMS.flatMap(([how, strike]) => MOMENTS.map(([when, moment]) => ({ how, when, strike, moment })));
  // Every way and every moment with the first host, every way with the others.
  const step = host === HOSTS[0] ? 2 : MOMENTS.length + 1;
  const chosen = IS_ALL ? cases : cases.filter((_, index) => index % step === 0);

  it.each(chosen)('is interrupted by $how $when, and the next one ends as without the interruption', async (each) => {
    scene = await Scene.open({ host, installation: installed });
    await scene.write(THREE);
    await interrupted(each.strike, each.moment);
    const left = scene.ours().map(({ vmid }) => vmid);
    const resumed = await scene.apply();
    expect(problems(resumed)).toEqual([]);
    expect(scene.ours().sort((a, b) => a.vmid - b.vmid)).toEqual(
      [410, 411, 412].map((vmid) => ({ vmid, node: 'pve1', name: `web-${vmid - 409}`, running: true })),
    );
    expect(left.length).toBeGreaterThan(0);
    expect(scene.taskCount('qmclone')).toBe(3);
    expect(scene.taskCount('qmdestroy')).toBe(0);
    expect([...scene.world.vms.values()].filter(({ config }) => config.current.has('lock'))).toEqual([]);
    for (const name of ['web-1', 'web-2', 'web-3']) {
      expect(scene.configOf(name).get('cores')).toBe('4');
      expect(scene.configOf(name).get('description')).not.toContain('incomplete');
    }
    expect([(await scene.plan()).code, scene.orphans()]).toEqual([0, []]);
  });
});

describe.each(ONE_HOST)('a VM that stands under $name $version', (host) => {
  const killAll: Victim = (running) => process.kill(-pidOf(running), 'SIGKILL');
  const web = { ...SMALL, vmid: 410, disks: { scsi0: { size: '4GiB' } } };

  it('is changed and destroyed by the next run where one was killed', async () => {
    scene = await Scene.open({ host, installation: installed });
    await scene.write(vm('web', web));
    expect(problems(await scene.apply())).toEqual([]);
    const id = (await scene.state()).get('proxwright_vm.web')?.id;
    await scene.write(vm('web', { ...web, tags: ['new'], disks: { scsi0: { size: '5GiB' } } }));
    await interrupted(killAll, /^PUT .*\/(config|resize)$/);
    expect(problems(await scene.apply())).toEqual([]);
    expect((await scene.plan()).code).toBe(0);
    expect((await scene.state()).get('proxwright_vm.web')).toMatchObject({ id, vmid: 410 });
    expect(scene.configOf('web').get('scsi0')).toContain('size=5G');
    await interrupted(killAll, /^DELETE /, ['destroy', '-json', '-auto-approve']);
    expect(problems(await scene.destroy())).toEqual([]);
    expect([scene.ours(), scene.orphans()]).toEqual([[], []]);
  });

  it('is not created twice if the run was killed after its last step, and the hint shows the way back', async () => {
    scene = await Scene.open({ host, installation: installed });
    await scene.write(vm('web', web));
    // The mark goes with the last write; after that nothing but the lost state could tell that it was ours.
    let writes = 0;
    const running = scene.start(APPLY);
    scene.after = async (_, line) => {
      if (!/^PUT .*\/config$/.test(line) || scene.configOf('web').get('description')?.includes('incomplete')) return;
      writes++;
      killAll(running);
      return 'cut';
    };
    await running.result;
    scene.after = () => undefined;
    expect(writes).toBe(1);
    const refused = await scene.apply();
    expect(problems(refused)).toEqual([expect.stringContaining('vm.web is VM 410 (web) on pve1')]);
    expect(scene.ours()).toHaveLength(1);
    expect((await scene.run(['import', '-input=false', 'proxwright_vm.web', 'pve1/410'])).code).toBe(0);
    expect(problems(await scene.apply())).toEqual([]);
    expect([(await scene.plan()).code, scene.taskCount('qmclone')]).toEqual([0, 1]);
  });
});

describe.each(HOSTS)('the installed provider under $name $version', (host) => {
  it('is installed from a mirror with a lock file, and serves', async () => {
    const mirror = await mkdtemp(join(root, 'mirror-'));
    const cpu = process.arch === 'x64' ? 'amd64' : process.arch;
    const place = join(mirror, SOURCE, VERSION, `${process.platform}_${cpu}`);
    await mkdir(place, { recursive: true });
    await symlink(
      join(root, 'bin', 'terraform-provider-proxwright.cjs'),
      join(place, `terraform-provider-proxwright_v${VERSION}.cjs`),
    );
    scene = await Scene.open({ host, installation: { kind: 'mirror', directory: mirror } });
    await scene.write(vm('web', { ...SMALL, power: 'stopped' }));
    const begun = await scene.run(['init', '-input=false', '-no-color']);
    expect([begun.code, begun.stderr]).toEqual([0, '']);
    expect(await scene.file('.terraform.lock.hcl')).toContain(SOURCE);
    expect(problems(await scene.apply())).toEqual([]);
    expect((await scene.plan()).code).toBe(0);
  });
});

describe.each(ONE_HOST)('the log under $name $version', (host) => {
  it('has our lines at the level that is asked for, and no secret', async () => {
    scene = await Scene.open({ host, installation: installed, environment: { CI_PASSWORD: 'correct-horse-battery' } });
    const cloudInit = { user: 'ubuntu', password: { env: 'CI_PASSWORD' } };
    await scene.write(vm('web', { ...SMALL, power: 'stopped', guest: 'cloud-init', cloud_init: cloudInit }));
    const { code, stderr, stdout } = await scene.run(APPLY, { TF_LOG: 'DEBUG' });
    expect(code).toBe(0);
    expect(stderr).toMatch(/\[DEBUG\]\s+provider\.\S*: configured: .*endpoint=/);
    expect(stderr).toContain('vm.web: ');
    expect(stdout + stderr).not.toMatch(/correct-horse-battery|00000000-0000-4000-8000-000000000001/);
    const quiet = await scene.run(['plan'], {});
    expect(quiet.stderr).not.toContain('configured');
  });
});
