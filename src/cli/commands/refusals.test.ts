/** Commands refuse invalid options and names with a useful message, before they contact a server. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Diagnostic, formatDiagnostic } from '../../base/diagnostics.ts';
import { toDiagnostic } from '../../base/errors.ts';
import { createProgram } from '../program.ts';
import { testDeps } from '../testing/deps.ts';

const STACK = 'version: 1\nstack: lab\nvms: { web: { name: web, node: a, clone: { template: base } } }\n';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'proxwright-refusals-'));
  writeFileSync(join(directory, 'stack.yaml'), STACK);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** What the command says when it fails. */
async function refusal(words: readonly string[], stack = STACK): Promise<string> {
  writeFileSync(join(directory, 'stack.yaml'), stack);
  const shown: Diagnostic[] = [];
  const { deps } = testDeps({ directory });
  const terminal = { ...deps.terminal, diagnostic: (each: Diagnostic) => void shown.push(each) };
  const program = createProgram(async (_options, command) => {
    await command({ ...deps, terminal }).catch((error: unknown) => void shown.push(toDiagnostic(error)));
  });
  await program.parseAsync([...words], { from: 'user' });
  return shown.map(formatDiagnostic).join('\n');
}

describe('a command refuses', () => {
  it.each([
    [['image', 'ensure', 'noble'], 'The stack declares no image "noble", and no other.'],
    [['permissions', '--for', 'root'], '"root" names no user or token with its realm.'],
    [['destroy'], 'To destroy without a question: proxwright destroy --yes'],
    [['output', 'foo'], 'vm_ids.'],
    [
      ['state', 'migrate', '--to', 's3://b/p?region=r&profile=c'],
      "If you are sure: proxwright state migrate --to 's3://b/p?region=r&profile=c' --yes",
    ],
    [['completion', 'csh'], 'Choose one of bash, zsh, fish.'],
  ])('%j', async (words, expected) => {
    expect(await refusal(words)).toContain(expected);
  });

  it.each([
    ['version: "1"\nstack: lab\n', 'Write the number, without quotes: version: 1.'],
    ['stack: lab\n', 'Write version: 1 at the top of the file.'],
  ])('the file %j', async (text, expected) => {
    expect(await refusal(['plan'], text)).toContain(expected);
  });
});
