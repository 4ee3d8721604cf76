/**
 * The built command against a server that repeats the token and the password of a guest, and sends escape sequences: nothing
 * of it reaches a pipe, a terminal or a file.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt } from './built-command.ts';
import { type Cluster, makeProject, type Project, startCluster, TOKEN } from './project.ts';

const SECRET = TOKEN.slice(TOKEN.indexOf('=') + 1);
const PASSWORD = 'swordfish/1';
const ECHO = [SECRET, PASSWORD, encodeURIComponent(PASSWORD), '\u001b]0;owned\u0007', '\u009b2J', '\u202e'].join(' ');
const STACK = `version: 1
stack: lab
variables:
  note: { type: string, sensitive: true }
vms:
  web:
    name: web
    vmid: 601
    node: pve1
    guest: cloud-init
    power: stopped
    description: "kept for \${var.note}"
    clone: { template: ubuntu-24.04 }
    cloud_init: { password: { env: GUEST_PASSWORD } }
`;

let cluster: Cluster | undefined;
let project: Project | undefined;
beforeAll(() => ensureBuilt());
afterEach(async () => {
  project?.remove();
  await cluster?.close();
});

async function open(rules: Parameters<typeof startCluster>[1] = []): Promise<Project> {
  cluster = await startCluster(50, rules);
  const secrets = { GUEST_PASSWORD: PASSWORD, PROXWRIGHT_VAR_note: 'note-swordfish' };
  project = makeProject(STACK, { ...cluster.environment, ...secrets });
  return project;
}

const files = ({ directory }: Project) =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'stack.yaml')
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));

function expectClean(text: string): void {
  for (const part of [SECRET, 'swordfish', '\u001b', '\u009b', '\u202e', '\u0007']) expect(text).not.toContain(part);
}

describe('the built command', () => {
  it('shows a failed task without what the server repeated', async () => {
    const on = await open([{ kind: 'task-fail', match: { task: 'qmclone' }, at: 1, percent: 40, message: ECHO }]);
    const { code, stdout, stderr } = await on.run('apply', '--yes', '--verify', '--log-level', 'debug');
    expect(code).toBe(1);
    expect(stderr).toContain('\\x1b]0;owned\\x07');
    expectClean([stdout, stderr, ...files(on)].join('\n'));
    const json = await on.run('apply', '--yes', '--json');
    expectClean([json.stdout, json.stderr, ...files(on)].join('\n'));
    for (const line of json.stdout.trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
  });

  it('applies a plan file that does not hold the value of a sensitive variable', async () => {
    const on = await open();
    const planned = await on.run('plan', '--out', 'plan.json');
    const applied = await on.run('apply', 'plan.json', '--yes');
    expect(applied.code, applied.stderr).toBe(0);
    const again = await on.run('plan');
    expect(again.stdout).toContain('No changes.');
    expect(cluster?.world.vms.get(601)?.config.current.get('description')).toContain('note-swordfish');
    expectClean([planned, applied, again].map(({ stdout, stderr }) => stdout + stderr).join('\n'));
    expectClean(files(on).join('\n'));
  });

  it('refuses a FIFO at once, wherever it reads a file', async () => {
    const on = await open();
    execFileSync('mkfifo', [join(on.directory, 'fifo')]);
    for (const args of [
      ['plan', '--file', 'fifo'],
      ['plan', '--var-file', 'fifo'],
      ['apply', 'fifo', '--yes'],
    ]) {
      const { code, stderr } = await on.run(...args);
      expect(code).toBe(1);
      expect(stderr).toContain('it is a FIFO, not a file');
    }
  });
});
