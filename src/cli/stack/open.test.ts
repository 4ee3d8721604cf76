import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DirectoryStore } from '../../state/directory-store.ts';
import { testDeps } from '../testing/deps.ts';
import { openStack } from './open.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'proxwright-open-'));
  await writeFile(join(directory, 'stack.yaml'), 'version: 1\nstack: lab\nvms: {}\n');
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function warningsOf(mode?: number): Promise<string[]> {
  const state = join(directory, '.proxwright', 'lab');
  if (mode !== undefined) {
    await mkdir(state, { recursive: true });
    await chmod(state, mode);
  }
  const { deps, warnings } = testDeps({ directory });
  await openStack({}, deps);
  await openStack({}, deps);
  return warnings;
}

describe.runIf(process.platform !== 'win32')('opening a stack', () => {
  it.each([0o755, 0o750, 0o701, 0o777])('warns once about a state directory that others can open: %o', async (mode) => {
    const warnings = await warningsOf(mode);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(`(mode 0${mode.toString(8)})`);
    expect(warnings[0]).toContain('chmod -R go= .proxwright/lab');
  });

  it('does not warn about a private directory, one that Proxwright created, or none', async () => {
    expect(await warningsOf()).toEqual([]);
    expect(await warningsOf(0o700)).toEqual([]);
    await rm(join(directory, '.proxwright'), { recursive: true });
    await new DirectoryStore(join(directory, '.proxwright', 'lab')).write('state.json', '{}');
    await rm(join(directory, '.proxwright', 'lab', 'state.json'));
    expect(await warningsOf()).toEqual([]);
  });
});
