/** The output of the built command in a pipe: a slow reader gets all of it, and a reader that stops ends the command. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { COMMAND, ensureBuilt } from './built-command.ts';

/** More than a pipe holds. */
const VMS = 1000;
let folder = '';

beforeAll(() => {
  ensureBuilt();
  folder = mkdtempSync(join(tmpdir(), 'proxwright-e2e-'));
  const vm = (index: number) =>
    `resource "proxmox_virtual_environment_vm" "vm${index}" {\n  node_name = "pve1"\n  vm_id     = ${1000 + index}\n}\n`;
  writeFileSync(join(folder, 'main.tf'), Array.from({ length: VMS }, (_, index) => vm(index)).join(''));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const piped = (reader: string) =>
  spawnSync(
    'bash',
    ['-c', `"$NODE" "$COMMAND" convert . --lint-only --json | ${reader}; echo "\${PIPESTATUS[0]}" >&2`],
    {
      cwd: folder,
      env: { ...process.env, NODE: process.execPath, COMMAND },
      encoding: 'utf8',
      maxBuffer: 1e8,
    },
  );

it('is whole for a reader that starts late', () => {
  const { stdout, stderr } = piped('(sleep 3; cat)');
  const { traps } = JSON.parse(stdout) as { traps: unknown[] };
  expect(traps.length).toBe(VMS);
  expect(stderr.trim().endsWith('2')).toBe(true);
});

it('ends with the same code if the reader stops', () => {
  const { stdout, stderr } = piped('head -c 10');
  expect(stdout).toContain('schema');
  expect(stderr.trim().endsWith('2')).toBe(true);
});
