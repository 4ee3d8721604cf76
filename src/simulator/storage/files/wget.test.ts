import { describe, expect, it } from 'vitest';
import { averageRate, CommandOutput, lengthLine, progressRow } from './wget.ts';

const MIB = 1024 ** 2;

describe("wget's lines", () => {
  it('match the real program', () => {
    const file = { skippedBytes: 0, sizeBytes: 150 * MIB };
    const row = { ...file, fromBytes: 32 * MIB, toBytes: 64 * MIB, bytesPerSecond: 410 * MIB, tookSeconds: undefined };
    expect(progressRow(row)).toBe(' 32768K ........ ........ ........ ........ 42%  410M 0s');
    const last = { ...file, fromBytes: 128 * MIB, toBytes: 150 * MIB, bytesPerSecond: 372 * MIB, tookSeconds: 0.36 };
    expect(progressRow(last)).toBe('131072K ........ ........ ......           100%  372M=0.4s');
  });

  it('show with commas what an earlier attempt received', () => {
    const sizes = { fromBytes: 32 * MIB, toBytes: 60 * MIB, skippedBytes: 40 * MIB, sizeBytes: 60 * MIB };
    expect(progressRow({ ...sizes, bytesPerSecond: 442 * MIB, tookSeconds: 0.047 })).toBe(
      ' 32768K ,,,,,,,, ........ ........ ....    100%  442M=0.05s',
    );
  });

  it('show the length in units as well', () => {
    expect(lengthLine(157_286_400, 0, 'application/octet-stream')).toBe(
      'Length: 157286400 (150M) [application/octet-stream]',
    );
    expect(lengthLine(62_914_560, 41_943_040, 'a/b')).toBe('Length: 62914560 (60M), 20971520 (20M) remaining [a/b]');
    expect(lengthLine(1000, 0, '')).toBe('Length: 1000');
    expect(averageRate(390 * MIB)).toBe('390 MB/s');
    expect(averageRate(100_000_000)).toBe('95.4 MB/s');
  });
});

describe('the output of a command', () => {
  it('reaches the log one line late, without empty lines, and its last line is the error', () => {
    const log: string[] = [];
    const output = new CommandOutput('download failed', (line) => log.push(line));
    for (const line of ['one', '', 'two', 'three']) output.line(line);
    expect(log).toEqual(['one', 'two']);
    expect(output.failure(4).message.trim()).toBe('download failed: three');
  });

  it('reduces to the exit code if it ends with an empty line', () => {
    const log: string[] = [];
    const output = new CommandOutput('download failed', (line) => log.push(line));
    for (const line of ['ERROR 404: Not Found.', '']) output.line(line);
    expect(log).toEqual(['ERROR 404: Not Found.']);
    expect(output.failure(8).message.trim()).toBe('download failed: exit code 8');
  });
});
