/**
 * Plants secrets wherever a user or a server can put one, runs the commands, and searches everything they wrote: terminal,
 * state, backups, journals, plan files, evidence and incident drafts.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { CommandDeps } from '../../src/cli/command.ts';
import { runApply } from '../../src/cli/commands/change/apply.ts';
import { runDestroy } from '../../src/cli/commands/change/destroy.ts';
import { runPlan } from '../../src/cli/commands/change/plan.ts';
import { runDoctor } from '../../src/cli/commands/check/doctor.ts';
import { runDrift } from '../../src/cli/commands/check/drift.ts';
import { runVerify } from '../../src/cli/commands/check/verify.ts';
import { runImport } from '../../src/cli/commands/import/import.ts';
import { runRuns } from '../../src/cli/commands/show/runs.ts';
import { runStateForget, runStateShow } from '../../src/cli/commands/state/state.ts';
import type { FaultRuleInput } from '../../src/simulator/index.ts';
import { type Bench, openBench, TOKEN_SECRET } from './support/command-bench.ts';

const NOTE = 'note-swordfish';
const TAG = 'tag-swordfish';
const PASSWORD = 'pass/swordfish "1"';
const DOCUMENT = '#cloud-config\nruncmd: [echo doc-swordfish]\n';

const STACK = `version: 1
stack: lab
variables:
  note: { type: string, sensitive: true }
  tag: { type: string, sensitive: true }
defaults: { node: pve1, guest: cloud-init, power: stopped, clone: { template: ubuntu-24.04 } }
vms:
  web:
    name: web
    vmid: 601
    description: "kept for \${var.note}"
    tags: ["\${var.tag}", web]
    cloud_init: { password: { env: GUEST_PASSWORD } }
  db:
    name: db
    vmid: 602
    cloud_init: { storage: local, user_data: { env: GUEST_DOCUMENT } }
`;

const ENVIRONMENT = {
  PROXWRIGHT_VAR_note: NOTE,
  PROXWRIGHT_VAR_tag: TAG,
  GUEST_PASSWORD: PASSWORD,
  GUEST_DOCUMENT: DOCUMENT,
};

/** What a server that repeats everything it was sent would say, with what a terminal would obey. */
const ECHO = [
  TOKEN_SECRET,
  PASSWORD,
  encodeURIComponent(PASSWORD),
  JSON.stringify(PASSWORD),
  Buffer.from(`root:${PASSWORD}`).toString('base64'),
  NOTE,
  'runcmd: [echo doc-swordfish]',
  '\u001b]0;owned\u0007\u009b2J\u202e',
].join(' ');

const HIDDEN = /swordfish|00000000-0000-4000-8000-000000000001|cGFzcy9zd29yZGZpc2|zd29yZGZpc2/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal would obey
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

let bench: Bench | undefined;
afterEach(() => bench?.close());

const open = async (rules: readonly FaultRuleInput[] = [], stack = STACK) => {
  bench = await openBench(stack, rules, ENVIRONMENT);
  return bench;
};

/** Every file that the commands left, except what the user wrote. */
function files(on: Bench): [string, string][] {
  return readdirSync(on.directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'stack.yaml')
    .map((entry) => [entry.name, readFileSync(join(entry.parentPath, entry.name), 'utf8')]);
}

function expectClean(texts: readonly (readonly [string, string])[]): void {
  for (const [name, text] of texts) {
    expect([name, HIDDEN.exec(text)?.[0]]).toEqual([name, undefined]);
    expect([name, OBEYED.exec(text)?.[0]]).toEqual([name, undefined]);
  }
}

type Command = (deps: CommandDeps) => ReturnType<typeof runPlan>;

/** Runs a command, and searches what it printed. */
async function clean(on: Bench, name: string, command: Command, part: Partial<CommandDeps> = {}) {
  const ended = await on.run(command, part);
  expectClean([[name, `${ended.out}\n${ended.said}`]]);
  return ended;
}

describe('a sensitive value', () => {
  it('is in no output and no file of its whole life, and the second plan is empty', async () => {
    const on = await open();
    await clean(on, 'plan', (deps) => runPlan({ out: 'plan.json' }, deps));
    await clean(on, 'plan --json', (deps) => runPlan({}, deps), { json: true });
    await clean(on, 'doctor', (deps) => runDoctor({}, deps));
    const applied = await clean(on, 'apply', (deps) => runApply('plan.json', { yes: true }, deps));
    expect(applied.code).toBe(0);
    const config = await on.outside.node('pve1').vm(601).config.get();
    expect(JSON.stringify([...config.values])).toContain(NOTE);
    expect((await clean(on, 'plan', (deps) => runPlan({}, deps))).out).toContain('No changes.');
    expect((await clean(on, 'verify', (deps) => runVerify({}, deps))).code).toBe(0);
    await on.outside.node('pve1').vm(601).config.put({ description: 'somebody else' });
    await clean(on, 'drift', (deps) => runDrift({}, deps));
    await clean(on, 'drift --json', (deps) => runDrift({}, deps), { json: true });
    await clean(on, 'apply --verify', (deps) => runApply(undefined, { yes: true, verify: true }, deps));
    await clean(on, 'state show', (deps) => runStateShow('vm.web', {}, deps));
    await clean(on, 'runs', (deps) => runRuns({}, deps));
    await clean(on, 'forget', (deps) => runStateForget('vm.web', { yes: true }, deps));
    await clean(on, 'import', (deps) => runImport('vm.web', '601', {}, deps));
    expect((await clean(on, 'plan', (deps) => runPlan({}, deps))).out).not.toContain('+ vm.web');
    expectClean(files(on));
    expect((await clean(on, 'destroy', (deps) => runDestroy({ yes: true }, deps))).code).toBe(0);
    expectClean(files(on));
    expect(files(on).length).toBeGreaterThan(8);
  });

  it('is planned as a change if it changed, and makes a plan file stale', async () => {
    const on = await open();
    await on.run((deps) => runApply(undefined, { yes: true }, deps));
    await on.run((deps) => runPlan({ out: 'plan.json' }, deps));
    const other = { environment: { PROXWRIGHT_VAR_note: 'other-swordfish' } };
    const planned = await clean(on, 'plan', (deps) => runPlan({ out: 'other.json' }, deps), other);
    expect(planned.out).toMatch(/description.*•••/);
    const stale = await clean(on, 'apply', (deps) => runApply('other.json', { yes: true }, deps));
    expect(stale.said).toContain('PLAN_STALE');
    expect((await clean(on, 'apply', (deps) => runApply('other.json', { yes: true }, deps), other)).code).toBe(0);
    expectClean(files(on));
  });

  it.each(['role', 'node', 'pool', 'nics.net0.bridge'])('is refused in %s, which every user sees', async (path) => {
    const [first = '', ...rest] = path.split('.');
    const value = rest.reduceRight((inner, name) => `{ ${name}: ${inner} }`, `"\${var.note}"`);
    const on = await open([], STACK.replace('    vmid: 601\n', `    vmid: 601\n    ${first}: ${value}\n`));
    const ended = await clean(on, path, (deps) => runPlan({}, deps));
    expect(ended.said).toContain(`"${path}" cannot use a sensitive variable`);
  });
});

describe('a server that repeats secrets and sends escape sequences', () => {
  it.each<[string, FaultRuleInput]>([
    ['in a failed task', { kind: 'task-fail', match: { task: 'qmclone' }, at: 1, percent: 40, message: ECHO }],
    ['in a warning of a task', { kind: 'task-warn', match: { task: 'qmclone' }, at: 1, message: ECHO }],
    [
      'in a refusal',
      { kind: 'refuse', match: { method: 'POST', path: '**/clone' }, at: 1, status: 500, message: ECHO },
    ],
  ])('leaves none of them %s', async (_where, rule) => {
    const on = await open([rule]);
    const ended = await clean(on, 'apply', (deps) => runApply(undefined, { yes: true, verify: true }, deps));
    expect(ended.said).toContain('\\x1b]0;owned');
    await clean(on, 'plan', (deps) => runPlan({}, deps));
    expectClean(files(on));
  });
});
