/** Passwords: written to the VM, and nowhere else. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ref, SMALL, vm } from './support/hcl.ts';
import { HOSTS } from './support/hosts.ts';
import { problems, Scene } from './support/scene.ts';
import { unzipped } from './support/unzip.ts';

const SECRET = 'correct-horse-battery';
const OTHER = 'staple-horse-battery';
const ARGS = {
  plan: ['plan', '-json', '-input=false', '-detailed-exitcode', '-out=plan.bin'],
  apply: ['apply', '-json', '-auto-approve'],
};

describe.each(HOSTS)('a password under $name $version', (host) => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await Scene.open({ host });
  });

  afterEach(() => scene.close());

  const passwordOf = () => scene.configOf('web').get('cipassword') ?? '';

  async function writtenDown(): Promise<string> {
    const plan = unzipped(Buffer.from(await scene.file('plan.bin'), 'latin1'));
    return `${plan}${await scene.file('terraform.tfstate')}`;
  }

  it('is in neither plan nor state if it is found by reference, and a new one is an update', async () => {
    const cloudInit = { user: 'ubuntu', password: { env: 'CI_PASSWORD' } };
    await scene.write(vm('web', { ...SMALL, guest: 'cloud-init', power: 'stopped', cloud_init: cloudInit }));
    const [first, second] = [{ CI_PASSWORD: SECRET }, { CI_PASSWORD: OTHER }];
    const made = await scene.run(ARGS.apply, first);
    expect(problems(made)).toEqual([]);
    expect((await scene.run(ARGS.plan, first)).code).toBe(0);
    const hash = passwordOf();
    expect(hash).not.toBe('');
    const changed = await scene.run(ARGS.plan, second);
    expect([changed.code, problems(changed)]).toEqual([2, []]);
    const text = await writtenDown();
    expect(text).toContain('CI_PASSWORD');
    expect(text + made.stdout + changed.stdout).not.toMatch(new RegExp(`${SECRET}|${OTHER}`));
    expect(problems(await scene.run(ARGS.apply, second))).toEqual([]);
    expect(passwordOf()).not.toBe(hash);
    expect((await scene.run(ARGS.plan, second)).code).toBe(0);
    const missing = await scene.run(ARGS.plan, {});
    expect(problems(missing).join()).toContain('CI_PASSWORD');
  });

  it('is kept out of both if it is write-only, or refused where the host cannot do that', async () => {
    const isAble = host.name === 'terraform' && Number(host.version.split('.')[1]) >= 11;
    const variable = `variable "password" {\n  type = string\n  sensitive = true\n${isAble ? '  ephemeral = true\n' : ''}}\n`;
    const cloudInit = { user: 'ubuntu', password_wo: ref('var.password') };
    await scene.write(variable, vm('web', { ...SMALL, guest: 'cloud-init', power: 'stopped', cloud_init: cloudInit }));
    const first = { TF_VAR_password: SECRET };
    const made = await scene.run(ARGS.apply, first);
    if (!isAble) {
      expect(JSON.stringify(made.diagnostics)).toContain('write-only');
      expect(scene.ours()).toEqual([]);
      return;
    }
    expect(problems(made)).toEqual([]);
    expect(passwordOf()).not.toBe('');
    expect((await scene.run(ARGS.plan, first)).code).toBe(0);
    const changed = await scene.run(ARGS.plan, { TF_VAR_password: OTHER });
    expect([changed.code, problems(changed)]).toEqual([2, []]);
    expect((await writtenDown()) + made.stdout + changed.stdout).not.toMatch(new RegExp(`${SECRET}|${OTHER}`));
  });

  it("reaches neither diagnostics nor the provider's log if the server repeats it with escape sequences", async () => {
    await scene.close();
    const message = `cannot use ${SECRET} ${encodeURIComponent(SECRET)} \u001b]0;owned\u0007 \u202e`;
    scene = await Scene.open({
      host,
      faults: [{ kind: 'task-fail', match: { task: 'qmclone' }, at: 1, percent: 40, message }],
    });
    const cloudInit = { user: 'ubuntu', password: { env: 'CI_PASSWORD' } };
    await scene.write(vm('web', { ...SMALL, guest: 'cloud-init', power: 'stopped', cloud_init: cloudInit }));
    const failed = await scene.run(ARGS.apply, { CI_PASSWORD: SECRET, TF_LOG_PROVIDER: 'debug' });
    expect(problems(failed).join()).toContain('\\x1b]0;owned\\x07');
    for (const part of [SECRET, '\u001b]', '\u202e']) expect(failed.stdout + failed.stderr).not.toContain(part);
  });
});
