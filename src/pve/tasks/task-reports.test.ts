import { describe, expect, it } from 'vitest';
import { durationText } from './task-errors.ts';
import { fractionIn, readExitStatus, readLastLogLine } from './task-reports.ts';

describe('an exit status', () => {
  it.each([
    ['OK', { kind: 'ok' }],
    ['WARNINGS: 3', { kind: 'warnings', warnings: 3 }],
    ['WARNINGS: 12', { kind: 'warnings', warnings: 12 }],
    ['there were WARNINGS: 3', { kind: 'failed', text: 'there were WARNINGS: 3' }],
    ['', { kind: 'unclear', text: 'no exit status' }],
    ['WARNINGS: 3 of them', { kind: 'failed', text: 'WARNINGS: 3 of them' }],
    ['OK then', { kind: 'failed', text: 'OK then' }],
    ['VM 507 already running', { kind: 'failed', text: 'VM 507 already running' }],
    ['unexpected status', { kind: 'unclear', text: 'unexpected status' }],
    [
      'unable to get last line from task log - x',
      { kind: 'unclear', text: 'unable to get last line from task log - x' },
    ],
    [undefined, { kind: 'unclear', text: 'no exit status' }],
  ])('%j is read', (text, end) => expect(readExitStatus(text)).toEqual(end));
});

describe('the last line of a log', () => {
  it.each([
    ['TASK OK', { kind: 'ok' }],
    ['TASK WARNINGS: 2', { kind: 'warnings', warnings: 2 }],
    ['TASK ERROR: clone failed: x', { kind: 'failed', text: 'clone failed: x' }],
    ['TASK WARNINGS: 12', { kind: 'warnings', warnings: 12 }],
    [' TASK OK \n', { kind: 'ok' }],
    ['the guest wrote TASK OK', undefined],
    ['TASK OKAY', undefined],
    ['transferred 1.0 GiB of 1.0 GiB (100.00%)', undefined],
    [undefined, undefined],
  ])('%j is read', (line, end) => expect(readLastLogLine(line)).toEqual(end));
});

describe('progress', () => {
  it.each([
    [['transferred 0.0 B of 1.0 GiB (0.00%)'], 0],
    [['transferred 12.3 MiB of 1.0 GiB (1.20%)', 'transferred 24.6 MiB of 1.0 GiB (2.40%)'], 0.024],
    [['drive-scsi0: transferred 32.0 MiB of 500.0 MiB (6.40%) in 1s'], 0.064],
    [['transferred 1.0 GiB of 1.0 GiB (100.00%)', 'create full clone of drive scsi1'], 1],
    [['creating a clone of VM 9000 with ID 312'], undefined],
    [[], undefined],
  ])('of %j is %s', (lines, fraction) => {
    if (fraction === undefined) expect(fractionIn(lines)).toBeUndefined();
    else expect(fractionIn(lines)).toBeCloseTo(fraction, 6);
  });
});

describe('a duration', () => {
  it.each([
    [250, '0.3s'],
    [14_000, '14s'],
    [59_900, '59.9s'],
    [60_000, '1m 0s'],
    [90_000, '1m 30s'],
    [600_000, '10m 0s'],
    [5_400_000, '1h 30m'],
  ])('of %i ms reads %s', (ms, text) => expect(durationText(ms)).toBe(text));
});

describe('the fraction of a task', () => {
  it.each([
    ['transferred 12.3 MiB of 1.0 GiB (1.20%)', 0.012],
    ['     0K ........ ........ ........ ........  3% 85.9M 7s', 0.03],
    [' 32768K ........ ........ ........ ........ 42%  410M 3s', 0.42],
    ['294912K ........ ......                       100%  390M=0.8s', 1],
    [' 65536K ,,,,,,,, ........ ........ ........ 64% 95.1M 6s', 0.64],
    ['transferred 12.3MiB of 1.0GiB (1.20%)', 0.012],
    ['transferred 1.0 GiB of 4.0 GiB (25%)', 0.25],
    ['it had 0K ........ 3% 85.9M 7s', undefined],
    ['Length: 597688320 (570M) [application/octet-stream]', undefined],
    ['saved 100%', undefined],
  ])('is found in %j', (line, fraction) => expect(fractionIn([line])).toBe(fraction));

  it('comes from the last line with a percentage', () => {
    const lines = ['     0K ........  5% 85.9M 7s', ' 32768K ........ 10% 85.9M 7s', ''];
    expect(fractionIn(lines)).toBe(0.1);
  });
});
