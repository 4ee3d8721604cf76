/**
 * Every example as a new user runs it on the simulator: nothing in one process, the built command, a real host, and the
 * commands of the README. Side by side, because they mostly wait.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, it, type TestContext } from 'vitest';
import { EXAMPLES } from '../../src/cli/examples.ts';
import { Workspace } from '../../src/provider/testing/terraform.ts';
import { announcedVariables, ensureBuilt, startCommand } from '../e2e/built-command.ts';
import { SOURCE } from '../provider/terraform/support/hcl.ts';
import { ONE_HOST } from '../provider/terraform/support/hosts.ts';
import { type Installed, installProvider } from '../provider/terraform/support/installed.ts';
import { codeBlocks } from './support/readme.ts';

const TERRAFORM = fileURLToPath(new URL('../../examples/terraform/', import.meta.url));
const SPEED = '60';

type AtTheEnd = TestContext['onTestFinished'];

/** A simulator of the test, and the variables by which a client finds it. */
async function simulate(world: string, atTheEnd: AtTheEnd): Promise<Record<string, string>> {
  const simulator = startCommand(['sim', '--listen', '127.0.0.1:0', '--speed', SPEED, '--world', world]);
  atTheEnd(async () => {
    simulator.process.kill('SIGTERM');
    await simulator.finished;
  });
  return announcedVariables(await simulator.firstLines(3));
}

beforeAll(() => ensureBuilt());

describe.concurrent('on the simulator, the example', () => {
  const examples = Object.entries(EXAMPLES);
  it.for(examples)('applies %s unchanged, and the second plan is empty', async ([name, facts], context) => {
    const { expect, onTestFinished } = context;
    const environment = await simulate(facts.world, onTestFinished);
    const directory = mkdtempSync(join(tmpdir(), 'proxwright-example-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const run = async (...args: string[]) => startCommand(args, environment, directory).finished;
    expect((await run('init', '--example', name)).code).toBe(0);
    for (const secret of facts.secrets ?? []) writeFileSync(join(directory, secret), 'machine: {}\n');
    const applied = await run('apply', '--yes');
    expect([applied.code, applied.stderr]).toEqual([0, expect.stringContaining('SUCCESS Applied')]);
    expect(await run('plan', '--exit-code')).toMatchObject({ code: 0, stdout: expect.stringContaining('No changes.') });
    expect((await run('destroy', '--all', '--yes')).code).toBe(0);
  });
});

describe.concurrent.each(ONE_HOST)('on the simulator, under $name $version, the configuration', (host) => {
  let provider: Installed;

  beforeAll(async () => {
    provider = await installProvider();
  });
  afterAll(() => provider.remove());

  it.for([
    ['environments/k3s-dev', 'default'],
    ['ubuntu-staggered', 'default'],
    ['rancher-5', 'default'],
    ['from-bare-host', 'bare'],
  ] as const)(
    'applies %s with the command of its README, and the second plan is empty',
    async ([folder, world], context) => {
      const { expect, onTestFinished } = context;
      const environment = await simulate(world, onTestFinished);
      const { installation } = provider;
      const workspace = await Workspace.create({ host, address: SOURCE, installation, environment });
      onTestFinished(() => workspace.remove());
      cpSync(TERRAFORM, workspace.directory, {
        recursive: true,
        filter: (path) => !/[/\\]\.terraform|tfstate/.test(path),
      });
      const at = (name: string) => join(workspace.directory, folder, name);
      if (folder !== 'rancher-5' && folder !== 'from-bare-host')
        cpSync(at('terraform.tfvars.example'), at('terraform.tfvars'));
      const words = codeBlocks(readFileSync(at('README.md'), 'utf8'), 'sh')
        .flatMap((code) => /^terraform apply (-var.*)$/m.exec(code)?.[1] ?? [])
        .findLast((line) => line.includes('-var '));
      const variables =
        words?.split(/ +/).flatMap((word, index, all) => (word === '-var' ? ['-var', all[index + 1] ?? ''] : [])) ?? [];
      const run = (command: string, ...more: string[]) =>
        workspace.start([`-chdir=${folder}`, command, '-input=false', '-no-color', ...variables, ...more]).result;
      // The provider comes from a directory, so that only modules have to be fetched.
      expect(await workspace.start([`-chdir=${folder}`, 'get']).result).toMatchObject({ code: 0 });
      expect(await run('apply', '-auto-approve')).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('Apply complete!'),
      });
      expect(await run('plan', '-detailed-exitcode')).toMatchObject({ code: 0 });
      expect(await run('destroy', '-auto-approve')).toMatchObject({ code: 0 });
    },
  );
});
