/** The evidence gate from the command line: its stages, its evidence, its incident drafts, and what it never writes. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { runApply } from '../../../src/cli/commands/change/apply.ts';
import { runPlan } from '../../../src/cli/commands/change/plan.ts';
import { runVerify } from '../../../src/cli/commands/check/verify.ts';
import { Gate } from '../../../src/cli/evidence/gate.ts';
import type { FaultRuleInput } from '../../../src/simulator/index.ts';
import { type Bench, openBench, READER, TOKEN_SECRET } from '../support/command-bench.ts';

const STACK = `version: 1
stack: lab
variables:
  size: { type: integer }
  remark: { type: string, sensitive: true, default: swordfish }
vms:
  web:
    count: \${var.size}
    name: lab-\${number}
    vmids: 601-609
    node: pve1
    guest: plain
    power: stopped
    clone: { template: ubuntu-24.04 }
    memory: 4GiB
`;
const APPLY = { yes: true, verify: true, varFile: ['vars.yaml'] };
const VERIFY = { varFile: ['vars.yaml'] };
const SECOND_CLONE_FAILS: FaultRuleInput = { kind: 'task-fail', match: { task: 'qmclone' }, at: 2, percent: 40 };

let bench: Bench | undefined;
afterEach(() => bench?.close());

async function project(stack = STACK, rules: readonly FaultRuleInput[] = [], environment = {}): Promise<Bench> {
  bench = await openBench(stack, rules, environment);
  bench.write('vars.yaml', 'size: 2\n');
  return bench;
}

const apply = (on: Bench, options = {}) => on.run((deps) => runApply(undefined, { ...APPLY, ...options }, deps));
const verify = (on: Bench, options = {}) => on.run((deps) => runVerify({ ...VERIFY, ...options }, deps));
const rows = (on: Bench) => on.read('evidence.md').trimEnd().split('\n').slice(2);
const records = (on: Bench) =>
  on
    .read('evidence.jsonl')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const incidents = (on: Bench) => (on.has('incidents') ? readdirSync(join(on.directory, 'incidents')) : []);
const stages = (record: { stages: { stage: string; result: string }[] }) =>
  record.stages.map(({ stage, result }) => `${stage} ${result}`);

describe('from a fresh clone with a variables file', () => {
  it('applies, verifies the result with an empty plan, and verifies it again later', async () => {
    const origin = await project();
    const git = (directory: string, ...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: directory, encoding: 'utf8' });
    git(origin.directory, 'init', '--quiet');
    git(origin.directory, 'add', 'stack.yaml', 'vars.yaml');
    git(origin.directory, 'commit', '--quiet', '--message', 'stack');
    const clone = origin.copy();

    const applied = await apply(clone, { task: 'P2-T5', note: 'first | try' });
    expect(applied).toMatchObject({ code: 0 });
    expect(applied.said).toContain('Verified: 2 VMs match the file.');
    expect(applied.said).toContain('Appended evidence to evidence.md and evidence.jsonl.');
    expect(await verify(clone)).toMatchObject({ code: 0 });

    const [first = '', second = ''] = rows(clone);
    expect(rows(clone)).toHaveLength(2);
    expect(first).toMatch(
      /^\| \d{4}-\d\d-\d\d \| P2-T5 \| Create vm\.web\[1\], vm\.web\[2\] \| `proxwright apply --var-file vars\.yaml --verify --yes` \| Complete \| first \\\| try; last plan empty; /,
    );
    expect(second).toMatch(
      /\| Verify lab \| No changes: 2 of 2 match the file \| `proxwright verify --var-file vars\.yaml` \| Complete \| plan empty; /,
    );
    const [applyRecord, verifyRecord] = records(clone);
    const commit = { id: git(clone.directory, 'rev-parse', 'HEAD').trim(), isClean: true };
    expect(applyRecord).toMatchObject({
      version: 1,
      result: 'Complete',
      stack: 'lab',
      commit,
      versions: { proxwright: '0.1.0', node: process.versions.node, proxmox: expect.stringMatching(/^9\./) },
      changes: { create: 2 },
      outcomes: { 'vm.web[1]': 'done', 'vm.web[2]': 'done' },
      remaining: [],
    });
    expect(applyRecord.differed[0]).toMatchObject({
      address: 'vm.web[1]',
      fields: expect.arrayContaining([{ path: 'memory', before: '2GiB', after: '4GiB', by: 'file' }]),
    });
    expect(applyRecord.compared[1].fields).toContainEqual({
      path: 'memory',
      key: 'memory',
      wanted: '4GiB',
      found: '4GiB',
      equal: true,
    });
    expect(stages(applyRecord)).toEqual([
      'validate passed',
      'doctor passed',
      'plan passed',
      'apply passed',
      'last plan passed',
    ]);
    for (const { tookMs } of applyRecord.stages) expect(tookMs).toBeGreaterThanOrEqual(0);
    expect(existsSync(join(clone.directory, '.proxwright/lab/runs', `${applyRecord.runId}.jsonl`))).toBe(true);
    expect(stages(verifyRecord)).toEqual(['validate passed', 'doctor passed', 'plan passed']);
    expect(incidents(clone)).toEqual([]);

    clone.write('vars.yaml', 'size: 2 # edited\n');
    expect(await apply(clone)).toMatchObject({ code: 0 });
    expect(records(clone)[2]).toMatchObject({ result: 'Complete', differed: [], commit: { isClean: false } });
  });
});

describe('a verification', () => {
  it('fails on a change made outside Proxwright, shows it, and changes nothing', async () => {
    const lab = await project();
    await apply(lab);
    await lab.outside.node('pve1').vm(602).config.put({ memory: 2048 });
    const { code, out } = await verify(lab);
    expect(code).toBe(1);
    expect(out).toContain('changed outside Proxwright');
    expect(rows(lab)[1]).toContain('| None. Pending: Change vm.web[2] (memory 2GiB → 4GiB) |');
    expect(rows(lab)[1]).toContain('| Failed | plan not empty: vm.web[2]; ');
    expect(records(lab)[1].remaining).toMatchObject([
      { address: 'vm.web[2]', vmid: 602, fields: [{ path: 'memory', before: '2GiB', after: '4GiB', by: 'others' }] },
    ]);
    expect((await lab.outside.node('pve1').vm(602).config.get()).values.get('memory')).toBe('2048');
    expect(incidents(lab)).toEqual([]);
  });

  it('passes with a read-only token', async () => {
    const lab = await project();
    await apply(lab);
    const reader = { environment: { PROXMOX_VE_API_TOKEN: READER } };
    expect(await lab.run((deps) => runVerify(VERIFY, deps), reader)).toMatchObject({ code: 0 });
    expect(records(lab)[1]).toMatchObject({ result: 'Complete', server: { principal: 'reader@pve!ro' } });
    expect(
      await lab.run((deps) => runApply(undefined, { ...APPLY, replace: ['vm.web[1]'] }, deps), reader),
    ).toMatchObject({
      code: 1,
      said: expect.stringContaining('PRIVILEGE_MISSING'),
    });
    expect(stages(records(lab)[2]).slice(1, 4)).toEqual(['doctor passed', 'plan failed', 'apply not reached']);
  });

  it('fails at the stage of an invalid file or an unreachable server', async () => {
    const lab = await project();
    expect(await verify(lab, { varFile: [] })).toMatchObject({ code: 1 });
    const gone = { environment: { PROXMOX_VE_ENDPOINT: 'https://127.0.0.1:9' } };
    expect(await lab.run((deps) => runVerify(VERIFY, deps), gone)).toMatchObject({ code: 1 });
    const [invalid, unreachable] = records(lab);
    expect(stages(invalid)).toEqual(['validate failed', 'doctor not reached', 'plan not reached']);
    expect(invalid).toMatchObject({ stack: null, stages: [{ problems: [{ code: 'MISSING_REFERENCE' }] }, {}, {}] });
    expect(stages(unreachable)).toEqual(['validate passed', 'doctor failed', 'plan not reached']);
    expect(unreachable).toMatchObject({ result: 'Failed', server: null, versions: { proxmox: null } });
    expect(rows(lab)[0]).toContain('validate failed: MISSING_REFERENCE');
  });

  it('writes no evidence with --no-evidence, and elsewhere with --evidence', async () => {
    const lab = await project();
    await apply(lab, { evidence: false });
    expect(lab.has('evidence.md')).toBe(false);
    expect(await verify(lab, { evidence: 'proof.md' })).toMatchObject({ code: 0 });
    expect(lab.has('evidence.md')).toBe(false);
    expect(lab.read('proof.jsonl')).toContain('"result":"Complete"');
  });

  it('does not fail if the default evidence file cannot be written, but fails for a named one', async () => {
    const lab = await project();
    await apply(lab, { evidence: false });
    mkdirSync(join(lab.directory, 'evidence.md'));
    const { code, said } = await verify(lab);
    expect({ code, said }).toEqual({
      code: 0,
      said: expect.stringContaining('Evidence could not be written to evidence.md.'),
    });
    expect(await verify(lab, { evidence: 'evidence.md' })).toMatchObject({
      code: 1,
      said: expect.stringContaining('UNWRITABLE_FILE'),
    });
  });
});

describe('an apply that fails', () => {
  it('drafts a private incident report that the evidence names; the next apply completes', async () => {
    const lab = await project(STACK, [SECOND_CLONE_FAILS]);
    const { code, said } = await apply(lab);
    expect(code).toBe(1);
    const [name = '', ...more] = incidents(lab);
    expect(more).toEqual([]);
    const [record] = records(lab);
    expect(name).toBe(`INC-${record.time.slice(0, 10)}-${record.runId}.md`);
    expect(said).toContain(`incidents/${name}`);
    expect(statSync(join(lab.directory, 'incidents', name)).mode & 0o777).toBe(0o600);
    const text = lab.read(`incidents/${name}`);
    expect(text).toContain('- **Status:** Open\n');
    expect(text).toMatch(
      /\| \*\*clone failed after .*:\*\* TASK_FAILED: qmclone 9000 on pve1 ended with: "clone failed: simulated failure"\. \|/,
    );
    expect(text).toContain(
      '2. **Why did that fail?** Because the server answered `"clone failed: simulated failure"`.',
    );
    expect(text).toMatch(/^ {4} *create full clone of drive/m);
    expect(text).not.toMatch(/transferred [\d.]+ GiB/);
    expect(text).toMatch(/\| vm\.web\[\d\] \| lab-\d \| 60\d \| pve1 \| done \|/);
    expect(text).toMatch(/\| vm\.web\[\d\] \| lab-\d \| 60\d \| pve1 \| failed while it was created/);
    expect(rows(lab)[0]).toContain(`| Failed | apply failed: TASK_FAILED at vm.web[`);
    expect(rows(lab)[0]).toContain(`see incidents/${name};`);
    expect(stages(record).slice(3)).toEqual(['apply failed', 'last plan failed']);

    expect(await apply(lab)).toMatchObject({ code: 0 });
    expect(rows(lab)[1]).toMatch(/\| Create vm\.web\[\d\] \| .* \| Complete \|/);
    expect(incidents(lab)).toEqual([name]);
  });

  it('passes no gate without --verify, and all of it with', async () => {
    const lab = await project();
    const pass = vi.spyOn(Gate.prototype, 'pass');
    try {
      expect(await apply(lab, { verify: false })).toMatchObject({ code: 0 });
      expect(pass.mock.calls).toEqual([]);
      expect(await apply(lab)).toMatchObject({ code: 0 });
      expect(pass.mock.calls.map(([stage]) => stage)).toEqual(['validate', 'doctor', 'plan', 'apply', 'last plan']);
    } finally {
      pass.mockRestore();
    }
  });

  it('drafts an incident without --verify too, and writes no evidence', async () => {
    const lab = await project(STACK, [SECOND_CLONE_FAILS]);
    expect(await apply(lab, { verify: false })).toMatchObject({ code: 1 });
    expect(incidents(lab)).toHaveLength(1);
    expect(lab.has('evidence.md')).toBe(false);
    expect(await apply(lab, { verify: false })).toMatchObject({ code: 0 });
    expect(incidents(lab)).toHaveLength(1);
  });

  it('drafts an incident if only the last plan is not empty', async () => {
    const lab = await project();
    await lab.run((deps) => runPlan({ ...VERIFY, only: ['vm.web[1]'], out: 'plan.json' }, deps));
    const { code } = await lab.run((deps) => runApply('plan.json', APPLY, deps));
    expect(code).toBe(1);
    expect(stages(records(lab)[0]).slice(3)).toEqual(['apply passed', 'last plan failed']);
    const [name = ''] = incidents(lab);
    expect(lab.read(`incidents/${name}`)).toContain('Because the last plan would still change vm.web[2].');
  });

  it('drafts nothing if it did not start', async () => {
    const lab = await project(STACK.replace('ubuntu-24.04', 'no-such-template'));
    const { code, out, said } = await apply(lab);
    expect(code).toBe(1);
    expect(out).toContain('no-such-template');
    expect(said).toContain('Nothing was changed');
    expect(stages(records(lab)[0])).toEqual([
      'validate passed',
      'doctor failed',
      'plan not reached',
      'apply not reached',
      'last plan not reached',
    ]);
    expect(rows(lab)[0]).toContain('| Nothing was changed |');
    expect(await apply(lab, { verify: false })).toMatchObject({ code: 1 });
    expect(incidents(lab)).toEqual([]);
  });

  it('leaves no evidence if the user declines', async () => {
    const lab = await project();
    const asked = { canAsk: true, ask: async () => 'n' };
    const { said } = await lab.run((deps) => runApply(undefined, { ...APPLY, yes: false }, deps), asked);
    expect(said).toContain('CANCELED');
    expect(lab.has('evidence.md')).toBe(false);
    expect(incidents(lab)).toEqual([]);
  });

  it('records that the user stopped it, without a draft', async () => {
    const lab = await project();
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    const { code } = await lab.run(
      (deps) => {
        const log = (level: 'error' | 'warn' | 'info' | 'debug', message: string) => {
          deps.terminal.log(level, message);
          if (message.includes('clone starts')) stop();
        };
        return runApply(undefined, APPLY, { ...deps, terminal: { ...deps.terminal, log } });
      },
      { stopRequested: () => stopped },
    );
    expect(code).toBe(130);
    expect(records(lab)[0]).toMatchObject({ result: 'Failed', incident: null });
    expect(rows(lab)[0]).toContain('then it was stopped');
    expect(incidents(lab)).toEqual([]);
    expect(await apply(lab)).toMatchObject({ code: 0 });
  });
});

describe('what is written', () => {
  it('contains no password, no token and no sensitive variable', async () => {
    const password = 'correct-horse-battery';
    const guest = STACK.replace('guest: plain', `guest: cloud-init\n    description: "\${var.remark}"`).concat(
      '    cloud_init: { user: ops, password: { env: OPS_PASSWORD } }\n',
    );
    const lab = await project(guest, [SECOND_CLONE_FAILS], { OPS_PASSWORD: password });
    const words = `for ${password} and ${TOKEN_SECRET}`;
    expect(await apply(lab, { task: words, note: words, var: ['remark=hush-hush'] })).toMatchObject({ code: 1 });
    const [draft = ''] = incidents(lab);
    const kept = [lab.read('evidence.md'), lab.read('evidence.jsonl'), lab.read(`incidents/${draft}`)].join('\n');
    expect(kept).toContain('for ••• and •••');
    const fields = records(lab)[0].differed[0].fields;
    for (const path of ['description', 'cloud_init.password']) {
      expect(fields).toContainEqual({ path, before: null, after: expect.stringContaining('•••'), by: 'file' });
    }
    for (const secret of [password, TOKEN_SECRET, 'hush-hush']) expect(kept).not.toContain(secret);
  });

  it('contains none in the draft about a last plan, which shows values of fields', async () => {
    const lab = await project(STACK.replace('guest: plain', `guest: plain\n    description: "\${var.remark}"`));
    const variable = { var: ['remark=hush-hush'] };
    await lab.run((deps) => runPlan({ ...VERIFY, ...variable, only: ['vm.web[1]'], out: 'plan.json' }, deps));
    expect(await lab.run((deps) => runApply('plan.json', { ...APPLY, ...variable }, deps))).toMatchObject({ code: 1 });
    const [draft = ''] = incidents(lab);
    expect(lab.read(`incidents/${draft}`)).toMatch(/vm\.web\[2\]: description is .*, should be •••/);
    expect(lab.read(`incidents/${draft}`)).not.toContain('hush-hush');
  });
});
