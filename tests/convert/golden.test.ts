/**
 * Whole trees, converted: the files, the report and the traps, as committed beside them. After an intended change, write
 * them again with `npx vitest run --project fast tests/convert -u` and read the difference.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withRefusals } from '../../src/cli/commands/convert.ts';
import { convertFiles, lintModules } from '../../src/convert/index.ts';

const TREES = resolve(import.meta.dirname, 'trees');

function treeOf(directory: string): ReadonlyMap<string, string> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.sort().map((path) => [relative(directory, path), readFileSync(path, 'utf8')]));
}

describe.each(readdirSync(TREES))('the tree %s', (name) => {
  const before = treeOf(join(TREES, name, 'before'));
  const conversion = convertFiles(before);

  it('is converted as committed', async () => {
    for (const [path, text] of conversion.changed) {
      await expect(text).toMatchFileSnapshot(join(TREES, name, 'after', path));
    }
    expect([...treeOf(join(TREES, name, 'after')).keys()]).toEqual([...conversion.changed.keys()].sort());
  });

  it('has the report and the traps that are committed', async () => {
    const findings = withRefusals(before, conversion, undefined).findings.map(
      ({ kind, file, line, subject, what, why }) => `${kind} ${file}:${line} ${subject} ${what}: ${why}\n`,
    );
    const traps = lintModules(conversion.modules).map(
      ({ rule, file, line, subject, what, known }) =>
        `${rule} ${file}:${line} ${subject}: ${what} ${known.join(' ')}\n`,
    );
    await expect([...findings, '\n', ...traps].join('')).toMatchFileSnapshot(join(TREES, name, 'report.txt'));
  });

  it('is not converted twice', () => {
    const files = new Map([...before, ...conversion.changed]);
    const again = convertFiles(files);
    expect(again.counts).toEqual({ vms: 0, templates: 0, images: 0, snippets: 0 });
  });
});
