/** The commands that work on a stack, as installed: a process, a directory, a cluster behind HTTPS. */
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMAND, ensureBuilt, hasTerminal, runCommand, startOnTerminal } from './built-command.ts';
import {
  type Cluster,
  makeProject,
  type Project,
  type StackOptions,
  stackText,
  startCluster,
  TOKEN,
} from './project.ts';

/** The tests run side by side: most of their time is spent waiting for processes. */
const SPEED = 20;

let cluster: Cluster;
const projects: Project[] = [];

beforeAll(async () => {
  ensureBuilt();
  cluster = await startCluster(SPEED);
});

afterAll(async () => {
  for (const each of projects) each.remove();
  await cluster?.close();
});

function projectOf(text: string, environment: NodeJS.ProcessEnv = {}): Project {
  const project = makeProject(text, { ...cluster.environment, ...environment });
  projects.push(project);
  return project;
}

const project = (options: StackOptions, environment?: NodeJS.ProcessEnv) => projectOf(stackText(options), environment);

const idsNamed = (name: string) =>
  [...cluster.world.vms.values()]
    .filter((vm) => vm.config.current.get('name')?.startsWith(`${name}-`))
    .map(({ vmid }) => vmid);

function everythingBelow(directory: string): string {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8')).join('\n');
}

describe.concurrent('validate', () => {
  it('lists every problem with its position and ends with 1, without a server', async () => {
    const bad = projectOf(`version: 1
stack: bad
vms:
  web:
    node: pve1
    memmory: 4GiB
    cpu: { cores: many }
`);
    const { code, stderr, stdout } = await bad.run('validate');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('stack.yaml:6:5');
    expect(stderr).toContain('Did you mean "memory"?');
    expect(stderr).toContain('stack.yaml:7:19');
    const json = JSON.parse((await bad.run('validate', '--json')).stdout);
    expect(json).toMatchObject({ file: 'stack.yaml', valid: false });
    expect(json.diagnostics.length).toBeGreaterThanOrEqual(2);
  });

  it('takes variables from options and files', async () => {
    const text = `${stackText({ name: 'vars', firstId: 2000 }).replace('count: 2', `count: \${var.size}`)}
variables: { size: { type: integer } }
`;
    const variable = projectOf(text);
    expect(await variable.run('validate')).toMatchObject({ code: 1, stderr: expect.stringContaining('--var size=') });
    expect(await variable.run('validate', '--var', 'size=3')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('with 3 VMs'),
    });
    variable.write('values.yaml', 'size: 1\n');
    expect((await variable.run('validate', '--var-file', 'values.yaml')).stderr).toContain('with 1 VM.');
  });

  it('says which file it looked for', async () => {
    const empty = projectOf('');
    const elsewhere = join(empty.directory, 'empty');
    mkdirSync(elsewhere);
    expect(await runCommand(['validate'], {}, elsewhere)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('stack.yaml, stack.yml, stack.json'),
    });
  });
});

describe.concurrent('a stack from the first plan to the end', () => {
  it('is planned, applied, unchanged, drifted, corrected and destroyed', async () => {
    const name = 'life';
    const life = project({
      name,
      firstId: 2100,
      power: 'running',
      guest: 'cloud-init',
      more: 'outputs: { files: ./out }\nrollout: { readiness: parallel }\n',
    });

    const planned = await life.run('plan', '--exit-code');
    expect(planned.code).toBe(2);
    expect(planned.stdout).toContain('+ vm.web[1]  create life-1 (VM 2100 on pve1)');
    expect(planned.stdout).toMatch(/memory +2GiB → 4GiB/);
    expect(planned.stdout).toContain('2 to create, 0 to change, 0 to delete.');
    expect(idsNamed(name)).toEqual([]);

    const refused = await life.run('apply');
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('apply --yes') });
    expect(idsNamed(name)).toEqual([]);

    const applied = await life.run('apply', '--yes', '--verify', '--evidence', 'proof.md', '--task', 'P2-T5');
    expect(applied.stderr).toContain('SUCCESS Applied: 2 VMs');
    expect(applied.stderr).toMatch(/INFO {4}\d{4}-\d\d-\d\dT[\d:.]+Z vm\.web\[1\]: clone starts/);
    expect(applied.stdout).toMatch(/vm\.web\[1\] +life-1 +2100 +pve1 +10\.10\.0\.\d+ +done/);
    expect(applied.code).toBe(0);
    expect(idsNamed(name)).toEqual([2100, 2101]);
    expect(readFileSync(join(life.directory, 'out', 'vm_2100_ip.txt'), 'utf8')).toMatch(/^10\.10\.0\.\d+\n$/);
    const table = readFileSync(join(life.directory, 'proof.md'), 'utf8').trim().split('\n');
    expect(table[0]).toBe('| Date | Task | Change summary | Validation command | Result | Notes |');
    expect(table[2]).toMatch(/ \| P2-T5 \| Create vm\.web\[1\], vm\.web\[2\] \| .* \| Complete \| .*last plan empty/);
    const evidence = JSON.parse(readFileSync(join(life.directory, 'proof.jsonl'), 'utf8'));
    expect(evidence).toMatchObject({ result: 'Complete', stack: 'life', changes: { create: 2 }, remaining: [] });
    expect(evidence.compared[0].fields).toContainEqual({
      path: 'memory',
      key: 'memory',
      wanted: '4GiB',
      found: '4GiB',
      equal: true,
    });
    expect(applied.stderr).toContain('SUCCESS Verified: 2 VMs match the file.');

    expect(await life.run('plan', '--exit-code')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
    expect(await life.run('verify', '--no-evidence')).toMatchObject({ code: 0 });
    expect(existsSync(join(life.directory, 'evidence.md'))).toBe(false);
    expect((await life.run('drift')).stdout).toContain('No drift');

    await cluster.outside.node('pve1').vm(2101).config.put({ cores: 2, tags: 'foreign' });
    const drift = await life.run('drift', '--exit-code');
    expect(drift.code).toBe(2);
    expect(drift.stdout).toMatch(/! vm\.web\[2\] .*\n {4}cpu\.cores +2 +\(applied: 4\)\n\n1 VM was changed/);
    expect(await life.run('verify')).toMatchObject({ code: 1, stderr: expect.stringContaining('Not verified') });
    const again = await life.run('plan');
    expect(again.stdout).toMatch(/cpu\.cores +2 → 4 {2}\[changed outside Proxwright, /);
    expect(again.stdout).toContain('0 to create, 1 to change, 0 to delete.');
    expect(await life.run('apply', '--yes', '--only', 'vm.web[2]')).toMatchObject({ code: 0 });
    expect((await life.run('plan')).stdout).toContain('No changes.');

    const gone = await life.run('destroy', '--yes', '--stop', '--json');
    expect(gone.code).toBe(0);
    expect(JSON.parse(gone.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({ type: 'result' });
    expect(idsNamed(name)).toEqual([]);
    expect(await life.run('destroy', '--yes')).toMatchObject({ stderr: expect.stringContaining('Nothing to destroy') });
  });

  it('prints JSON lines on request', async () => {
    const json = project({ name: 'json', firstId: 2200, count: 1 });
    expect(JSON.parse((await json.run('plan', '--json')).stdout)).toMatchObject({ version: 1, stack: 'json' });
    const { stdout, stderr, code } = await json.run('apply', '--yes', '--json');
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(code).toBe(0);
    expect(lines[0]).toMatchObject({ type: 'plan' });
    expect(lines).toContainEqual(expect.objectContaining({ type: 'progress', kind: 'step', action: 'vm.clone' }));
    expect(lines.at(-1)).toMatchObject({ type: 'result', outcomes: { 'vm.web[1]': 'done' } });
    for (const line of stderr.trim().split('\n').filter(Boolean)) expect(JSON.parse(line)).toHaveProperty('level');
  });

  it('keeps a saved plan private and refuses it once something has changed', async () => {
    const saved = project({ name: 'saved', firstId: 2300, count: 1 });
    writeFileSync(join(saved.directory, 'plan.json'), '', { mode: 0o644 });
    expect(await saved.run('plan', '--out', 'plan.json')).toMatchObject({ code: 0 });
    expect(statSync(join(saved.directory, 'plan.json')).mode & 0o777).toBe(0o600);
    expect(await saved.run('apply', '--yes', 'plan.json')).toMatchObject({ code: 0 });
    const stale = await saved.run('apply', '--yes', 'plan.json');
    expect(stale).toMatchObject({ code: 1, stderr: expect.stringContaining('PLAN_STALE') });
    saved.write('other.json', '{"version": 1}');
    expect((await saved.run('apply', '--yes', 'other.json')).stderr).toContain('not a plan');
    expect((await saved.run('plan', '--only', 'vm.wbe')).stderr).toContain('Did you mean "vm.web"?');
  });

  it('writes no secret anywhere', async () => {
    const secret = 'correct-horse-battery';
    const text = stackText({
      name: 'hush',
      firstId: 2400,
      count: 1,
      guest: 'cloud-init',
      more: '    cloud_init: { user: ops, password: { env: OPS_PASSWORD } }\n',
    });
    const hush = projectOf(text, { OPS_PASSWORD: secret });
    const planned = await hush.run('plan', '--out', 'plan.json', '--log-level', 'debug');
    const applied = await hush.run('apply', '--yes', '--log-level', 'debug', '--json');
    expect(applied.code).toBe(0);
    expect(await hush.run('plan', '--exit-code')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
    const traces = [
      planned.stdout,
      planned.stderr,
      applied.stdout,
      applied.stderr,
      everythingBelow(hush.directory),
    ].join('\n');
    expect(traces).not.toContain(secret);
    expect(traces).not.toContain(TOKEN.split('=')[1]);
    const missing = projectOf(text);
    expect(await missing.run('plan')).toMatchObject({ code: 1, stderr: expect.stringContaining('OPS_PASSWORD') });
  });
});

describe.concurrent('an interrupted apply', () => {
  it('is resumed after kill -9 without creating anything twice', async () => {
    const killed = project({ name: 'killed', firstId: 2500, count: 3 });
    const first = killed.start('apply', '--yes');
    await first.said('vm.web[1]: clone starts');
    first.process.kill('SIGKILL');
    await first.finished;
    expect((await killed.run('plan')).stderr).toContain('An earlier run is unfinished');
    const second = await killed.run('apply', '--yes');
    expect(second.stderr).toContain('which no longer runs');
    expect(second.code).toBe(0);
    expect(idsNamed('killed')).toHaveLength(3);
    expect(await killed.run('plan', '--exit-code')).toMatchObject({ code: 0 });
  });

  it('stops cleanly on the first Ctrl-C, says what exists and can be resumed', async () => {
    const stopped = project({ name: 'stopped', firstId: 2600, count: 3 });
    const first = stopped.start('apply', '--yes');
    await first.said('vm.web[1]: clone starts');
    first.process.kill('SIGINT');
    const end = await first.finished;
    expect(end.code).toBe(130);
    expect(end.stderr).toContain('Nothing was undone; run proxwright apply again to resume.');
    expect(existsSync(join(stopped.directory, '.proxwright', 'stopped', 'lock'))).toBe(false);
    expect(await stopped.run('apply', '--yes')).toMatchObject({ code: 0 });
    expect(idsNamed('stopped')).toHaveLength(3);
    expect(await stopped.run('plan', '--exit-code')).toMatchObject({ code: 0 });
  });

  it('refuses a second run on the same stack while the first lives', async () => {
    // The first one lasts until it is stopped, however long the second takes to begin.
    const options = { name: 'busy', firstId: 2700, count: 2 };
    const busy = projectOf(`${stackText(options)}\nrollout: { stagger: 10m }\n`);
    const first = busy.start('apply', '--yes');
    await first.said('clone starts');
    const second = await busy.run('apply', '--yes');
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('STATE_LOCKED') });
    expect(second.stderr).toMatch(/has been running "apply" on .* since \d{4}-.* \(process \d+\)/);
    first.process.kill('SIGINT');
    expect((await first.finished).code).toBe(130);
  });
});

describe.concurrent('what can be wrong around it', () => {
  it('is a wrong token', async () => {
    const wrong = project({ name: 'token', firstId: 2800 }, { PROXMOX_VE_API_TOKEN: 'root@pam!admin=not-the-secret' });
    const { code, stderr } = await wrong.run('plan');
    expect(code).toBe(1);
    expect(stderr).toContain('LOGIN_REFUSED');
    expect(stderr).not.toContain('not-the-secret');
  });

  it('shows the right fingerprint when the given one is wrong, missing or to be skipped', async () => {
    const wrong = project({ name: 'trust', firstId: 2800 }, { PROXMOX_VE_FINGERPRINT: 'AA:'.repeat(31).concat('AA') });
    const insecure = project(
      { name: 'trust', firstId: 2800 },
      { PROXMOX_VE_FINGERPRINT: '', PROXMOX_VE_INSECURE: 'true' },
    );
    for (const each of [await wrong.run('plan'), await insecure.run('plan')]) {
      expect(each).toMatchObject({ code: 1, stderr: expect.stringContaining('CERT_UNTRUSTED') });
      expect(each.stderr).toContain(`connection.fingerprint: "${cluster.fingerprint}"`);
    }
    expect((await insecure.run('plan')).stderr).toContain('PROXMOX_VE_INSECURE has no effect');
  });

  it('is a file where the state belongs', async () => {
    const blocked = project({ name: 'blocked', firstId: 2800 });
    writeFileSync(join(blocked.directory, '.proxwright'), '');
    const { code, stderr } = await blocked.run('apply', '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain('STATE_UNWRITABLE');
    expect(stderr).not.toMatch(/^\s+at .*\.js:\d+/m);
  });

  it.skipIf(process.getuid?.() === 0)('is a directory that may not be written to; a plan works there', async () => {
    const readOnly = project({ name: 'readonly', firstId: 2800 });
    chmodSync(readOnly.directory, 0o555);
    try {
      expect(await readOnly.run('plan')).toMatchObject({ code: 0 });
      expect(await readOnly.run('apply', '--yes')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('STATE_UNWRITABLE'),
      });
    } finally {
      chmodSync(readOnly.directory, 0o755);
    }
    expect(idsNamed('readonly')).toEqual([]);
  });

  it.skipIf(!existsSync('/dev/full'))('is a full disk', async () => {
    const full = project({ name: 'full', firstId: 2800 });
    const { code, stderr } = await full.run('plan', '--out', '/dev/full');
    expect(code).toBe(1);
    expect(stderr).toContain('ENOSPC');
  });

  it('is a reader that leaves early', async () => {
    const early = project({ name: 'early', firstId: 2800, count: 9 });
    const { stdout, stderr } = await promisify(execFile)(
      'sh',
      ['-c', `"${process.execPath}" "${COMMAND}" plan | head -n 1`],
      { cwd: early.directory, env: { ...process.env, ...cluster.environment } },
    );
    expect(stdout).toBe('+ vm.web[1]  create early-1 (VM 2800 on pve1)\n');
    expect(stderr).toBe('');
  });
});

describe.skipIf(!hasTerminal).concurrent('on a terminal', () => {
  const onTerminal = ({ directory }: Project, ...args: string[]) =>
    startOnTerminal(args, cluster.environment, directory);

  it('asks, draws one line for each VM and a total, and ends with a table', async () => {
    const drawn = project({ name: 'drawn', firstId: 3000 });
    const command = onTerminal(drawn, 'apply');
    await command.printed('Apply these changes? [y/N]');
    command.process.stdin?.write('y\n');
    const { code, stdout } = await command.finished;
    expect(code).toBe(0);
    expect(stdout).toContain('\u001b[3A\r\u001b[J');
    expect(stdout).toContain('2 of 2 VMs ended');
    expect(stdout).toMatch(/drawn-1 +3000 +pve1/);
    expect(idsNamed('drawn')).toHaveLength(2);
  });

  it('does nothing without a yes, and destroys only for the name of the stack', async () => {
    const careful = project({ name: 'careful', firstId: 3100, count: 1 });
    const declined = onTerminal(careful, 'apply');
    await declined.printed('[y/N]');
    declined.process.stdin?.write('\n');
    expect(await declined.finished).toMatchObject({
      code: 130,
      stdout: expect.stringContaining('Nothing was changed.'),
    });
    const interrupted = onTerminal(careful, 'apply');
    await interrupted.printed('[y/N]');
    interrupted.process.stdin?.write('\u0003');
    expect(await interrupted.finished).toMatchObject({ code: 130 });
    expect(existsSync(join(careful.directory, '.proxwright', 'careful', 'lock'))).toBe(false);
    expect(idsNamed('careful')).toEqual([]);
    expect(await careful.run('apply', '--yes')).toMatchObject({ code: 0 });
    const mistyped = onTerminal(careful, 'destroy');
    await mistyped.printed('Type the name of the stack');
    mistyped.process.stdin?.write('yes\n');
    expect(await mistyped.finished).toMatchObject({ code: 130 });
    expect(idsNamed('careful')).toHaveLength(1);
    const named = onTerminal(careful, 'destroy');
    await named.printed('Type the name of the stack');
    named.process.stdin?.write('careful\n');
    expect(await named.finished).toMatchObject({ code: 0 });
    expect(idsNamed('careful')).toEqual([]);
  });

  it('asks before it deletes what left the file', async () => {
    const shrinking = project({ name: 'shrinking', firstId: 3300 });
    expect(await shrinking.run('apply', '--yes')).toMatchObject({ code: 0 });
    shrinking.write('stack.yaml', stackText({ name: 'shrinking', firstId: 3300, count: 1 }));
    expect(await shrinking.run('apply', '--yes')).toMatchObject({
      stdout: expect.stringContaining('= vm.web[2]  keep'),
    });
    expect(idsNamed('shrinking')).toHaveLength(2);
    const command = onTerminal(shrinking, 'apply');
    await command.printed('Delete them? [y/N]');
    command.process.stdin?.write('y\n');
    await command.printed('Type the name of the VM, shrinking-2, to confirm');
    command.process.stdin?.write('shrinking-2\n');
    expect(await command.finished).toMatchObject({ code: 0 });
    expect(idsNamed('shrinking')).toEqual([3300]);
  });

  it('ends when it is told to while it waits for an answer', async () => {
    const asked = project({ name: 'asked', firstId: 3400 });
    const command = onTerminal(asked, 'apply');
    await command.printed('Apply these changes? [y/N]');
    const { pid } = command.process;
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    process.kill(Number(child), 'SIGTERM');
    expect(await command.finished).toMatchObject({ code: 130 });
    expect(idsNamed('asked')).toEqual([]);
  });

  it('stops on a Ctrl-C that is typed', async () => {
    const typed = project({ name: 'typed', firstId: 3200, power: 'running', guest: 'cloud-init' });
    const command = onTerminal(typed, 'apply', '--yes');
    await command.printed('of 2 VMs ended');
    command.process.stdin?.write('\u0003');
    expect(await command.finished).toMatchObject({ code: 130, stdout: expect.stringContaining('again to resume') });
    expect(await typed.run('destroy', '--yes', '--stop')).toMatchObject({ code: 0 });
    expect(idsNamed('typed')).toEqual([]);
  });
});
