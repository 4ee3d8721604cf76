import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../base/clock.ts';
import { addEvidence, evidenceFiles } from './evidence-files.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'proxwright-files-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const shown = evidenceFiles('evidence.md');
const paths = () => evidenceFiles(join(directory, 'evidence.md'));
const add = (text: string, clock: Clock = systemClock) =>
  addEvidence(paths(), shown, { row: `| ${text} | b | c | d | e | f |`, line: JSON.stringify({ text }) }, clock);
const table = () => readFileSync(paths().table, 'utf8').split('\n');
const log = () => readFileSync(paths().log, 'utf8').split('\n').filter(Boolean);

describe('the names', () => {
  it.each([
    ['evidence.md', 'evidence.md', 'evidence.jsonl'],
    ['docs/proof.jsonl', 'docs/proof.md', 'docs/proof.jsonl'],
    ['EVIDENCE', 'EVIDENCE', 'EVIDENCE.jsonl'],
  ])('of %s are %s and %s', (file, wantedTable, wantedLog) => {
    expect(evidenceFiles(file)).toEqual({ table: wantedTable, log: wantedLog });
  });
});

describe('adding evidence', () => {
  it('creates private files, and one table head', async () => {
    await add('1');
    await add('2');
    expect(table().filter((line) => line.startsWith('| Date'))).toHaveLength(1);
    expect(table().slice(2)).toEqual(['| 1 | b | c | d | e | f |', '| 2 | b | c | d | e | f |', '']);
    expect(log()).toEqual(['{"text":"1"}', '{"text":"2"}']);
    for (const path of Object.values(paths())) expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('keeps the lines of concurrent writers, and one table head', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `run ${index}`);
    await Promise.all(names.map((name) => add(name)));
    expect(table()[0]).toMatch(/^\| Date/);
    expect(table().slice(2, -1).sort()).toEqual(names.map((name) => `| ${name} | b | c | d | e | f |`).sort());
    expect(
      log()
        .map((line) => JSON.parse(line).text)
        .sort(),
    ).toEqual(names.sort());
    expect(readdirSync(directory).sort()).toEqual(['evidence.jsonl', 'evidence.md']);
  });

  it('keeps every byte that a person wrote', async () => {
    await add('1');
    const edited = `${readFileSync(paths().table, 'utf8').replace('| 1 |', '| one, as I say |')}| by hand |`;
    writeFileSync(paths().table, edited);
    writeFileSync(paths().log, '{"text":"by hand"}');
    await add('2');
    expect(readFileSync(paths().table, 'utf8')).toBe(`${edited}\n| 2 | b | c | d | e | f |\n`);
    expect(log()).toEqual(['{"text":"by hand"}', '{"text":"2"}']);
  });

  it('stops waiting for the lock of a dead process', async () => {
    writeFileSync(join(directory, '.evidence.md.lock'), '');
    let sleptMs = 0;
    const sleep = async (ms: number) => {
      sleptMs += ms;
    };
    await add('1', { now: () => sleptMs, ticks: () => sleptMs, sleep });
    expect(sleptMs).toBe(2_000);
    expect(table()).toContain('| 1 | b | c | d | e | f |');
    expect(readdirSync(directory).sort()).toEqual(['evidence.jsonl', 'evidence.md']);
  });

  it.skipIf(!existsSync('/dev/full'))('does not read a device, and reports a full one', async () => {
    const full = { table: '/dev/full', log: paths().log };
    const added = addEvidence(full, shown, { row: '| a |', line: '{}' }, systemClock);
    await expect(added).rejects.toMatchObject({ code: 'UNWRITABLE_FILE', message: expect.stringContaining('ENOSPC') });
    expect(existsSync(paths().log)).toBe(false);
  });

  it('names the file that cannot be written', async () => {
    mkdirSync(paths().table);
    await expect(add('1')).rejects.toMatchObject({
      code: 'UNWRITABLE_FILE',
      diagnostic: { where: { file: 'evidence.md' } },
    });
  });
});
