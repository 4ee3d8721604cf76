import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readTextFile } from './text-file.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'proxwright-text-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const reasonFor = (path: string) =>
  readTextFile(path, 'a stack file', undefined, 'stack.yaml').catch((error) => error.diagnostic);

describe('a file that is named on the command line or in a stack', () => {
  it('is read as it is', async () => {
    const path = join(directory, 'stack.yaml');
    writeFileSync(path, 'größer\n');
    expect(await readTextFile(path, 'a stack file')).toBe('größer\n');
  });

  it.each([
    ['UTF-16', Buffer.from('\ufeffversion: 1\n', 'utf16le'), 'it is in UTF-16; save it as UTF-8.'],
    [
      'Latin-1',
      Buffer.from('version: 1\nstack: caf\u00e9\n', 'latin1'),
      'line 2 is not text in UTF-8; save the file as UTF-8.',
    ],
  ])('is refused in %s, because its letters would change', async (_, bytes, reason) => {
    const path = join(directory, 'stack.yaml');
    writeFileSync(path, bytes);
    expect((await reasonFor(path)).detail).toBe(`"stack.yaml" cannot be read as a stack file: ${reason}`);
  });

  it('is refused if it is a FIFO, without waiting for a writer', async () => {
    const path = join(directory, 'fifo');
    execFileSync('mkfifo', [path]);
    expect(await reasonFor(path)).toMatchObject({
      code: 'UNREADABLE_FILE',
      where: { file: 'stack.yaml' },
      detail: '"stack.yaml" cannot be read as a stack file: it is a FIFO, not a file.',
    });
  });

  it.each([
    ['/dev/zero', 'it is a device, not a file'],
    [tmpdir(), 'it is a directory'],
  ])('is refused if it is %s', async (path, reason) => {
    expect((await reasonFor(path)).detail).toContain(reason);
  });

  it('is refused if it has gigabytes, after a few megabytes', async () => {
    const path = join(directory, 'large');
    closeSync(openSync(path, 'w'));
    truncateSync(path, 8 * 1024 ** 3);
    expect((await reasonFor(path)).detail).toContain('it is larger than 4MiB, the limit for such a file');
  });
});
