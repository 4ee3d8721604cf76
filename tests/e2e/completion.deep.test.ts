/** The completion scripts in the shells they are for. A shell that is not installed is skipped. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMAND, ensureBuilt } from './built-command.ts';

const STACK = `version: 1
stack: lab
vms:
  web: { count: 2, name: "web-\${number}", node: a, clone: { template: base } }
  gpu: { each: ["0000:01:00"], name: "gpu-\${number}", node: a, clone: { template: base } }
`;

let directory: string;
beforeAll(() => {
  ensureBuilt();
  directory = mkdtempSync(join(tmpdir(), 'proxwright-completion-'));
  mkdirSync(join(directory, 'bin'));
  symlinkSync(COMMAND, join(directory, 'bin', 'proxwright'));
  writeFileSync(join(directory, 'stack.yaml'), STACK);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function isInstalled(shell: string): boolean {
  if (spawnSync(shell, ['--version']).status === 0) return true;
  process.stdout.write(`completion in ${shell} is not tested: ${shell} is not installed\n`);
  return false;
}

/** The lines that a script of this shell prints. */
function runIn(shell: string, args: readonly string[]): string[] {
  const env = { ...process.env, PATH: `${join(directory, 'bin')}:${process.env.PATH}` };
  const { stdout, stderr } = spawnSync(shell, args, { cwd: directory, env, encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((line) => line !== '');
}

/** What Tab offers in bash after these words; the last one is being typed. */
function inBash(...words: string[]): string[] {
  const list = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const script = `eval "$(proxwright completion bash)"
    complete -p proxwright >/dev/null || echo 'not registered'
    COMP_WORDS=(proxwright ${list}); COMP_CWORD=${words.length}
    _proxwright 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return runIn('bash', ['--norc', '--noprofile', '-c', script]);
}

describe.skipIf(!isInstalled('bash'))('Tab in bash', () => {
  it.each([
    [['st'], ['state']],
    [['state', 'sh'], ['show']],
    [['plan', '--on'], ['--only']],
    [
      ['plan', '--only', 'vm.w'],
      ['vm.web', 'vm.web\\[1\\]', 'vm.web\\[2\\]'],
    ],
    [
      ['plan', '--only', 'vm.web\\['],
      ['vm.web\\[1\\]', 'vm.web\\[2\\]'],
    ],
    [
      ['plan', '--only', "'vm.web["],
      ['vm.web[1]', 'vm.web[2]'],
    ],
    [
      ['plan', '--only', '=', 'vm.g'],
      ['vm.gpu', 'vm.gpu\\[\\"0000:01:00\\"\\]'],
    ],
    [['plan', '--log-level', 'de'], ['debug']],
    [['plan', '-f', 'sta'], ['stack.yaml']],
  ])('completes %j to %j', (words, expected) => {
    expect(inBash(...words)).toEqual(expected);
  });

  it('completes and prints nothing if the stack file has problems', () => {
    writeFileSync(join(directory, 'broken.yaml'), 'vms: [');
    expect(inBash('plan', '-f', 'broken.yaml', '--only', 'vm.')).toEqual([]);
  });
});

describe.skipIf(!isInstalled('zsh'))('Tab in zsh', () => {
  it.each([
    [['st'], ['state:']],
    [
      ['plan', '--only', 'vm.w'],
      ['vm.web:', 'vm.web[1]:', 'vm.web[2]:'],
    ],
    [
      ['plan', '--only', 'vm.g'],
      ['vm.gpu:', 'vm.gpu["0000\\:01\\:00"]:'],
    ],
  ])('completes %j to %j', (words, expected) => {
    const list = words.map((word) => `'${word}'`).join(' ');
    const script = `compdef() { :; }; _describe() { print -rl -- "\${(@P)2}" }
      eval "$(proxwright completion zsh)"
      words=(proxwright ${list}); CURRENT=${words.length + 1}; _proxwright`;
    const found = runIn('zsh', ['-f', '-c', script]);
    expect(found).toEqual(expected.map((start) => expect.stringContaining(start)));
  });
});

describe.skipIf(!isInstalled('fish'))('Tab in fish', () => {
  it.each([
    ['proxwright st', ['state']],
    ['proxwright plan --only vm.w', ['vm.web', 'vm.web[1]', 'vm.web[2]']],
  ])('completes %j to %j', (line, expected) => {
    const found = runIn('fish', ['--no-config', '-c', `proxwright completion fish | source; complete -C '${line}'`]);
    expect(found.map((each) => each.split('\t')[0])).toEqual(expected);
  });
});
