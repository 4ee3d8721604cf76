import { describe, expect, it } from 'vitest';
import { fractionIn } from './progress.ts';

describe('how far a task is', () => {
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
  ])('stands in %j', (line, fraction) => expect(fractionIn([line])).toBe(fraction));

  it('is told by the last line that says so', () => {
    const lines = ['     0K ........  5% 85.9M 7s', ' 32768K ........ 10% 85.9M 7s', ''];
    expect(fractionIn(lines)).toBe(0.1);
  });
});
