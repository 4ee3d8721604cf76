import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineDiff } from './line-diff.ts';

const shown = (before: string, after: string) =>
  lineDiff(before, after).map(({ kind, line }) => `${{ same: ' ', added: '+', removed: '-', gap: ' ' }[kind]}${line}`);

describe('the difference of two texts', () => {
  it('has the removed and added lines, with two lines of context', () => {
    const before = 'a\nb\nc\nd\ne\nf\n';
    expect(shown(before, before.replace('d', 'D'))).toEqual([' …', ' b', ' c', '-d', '+D', ' e', ' f']);
  });

  it('is nothing but a gap for equal texts', () => {
    expect(shown('a\nb\n', 'a\nb\n')).toEqual([' …']);
    expect(shown('', '')).toEqual([]);
  });

  it('leads from one text to the other, for any texts', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 });
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const [old, now] = [before, after].map((list) => list.map((line) => `${line}\n`).join(''));
        const diff = lineDiff(old ?? '', now ?? '');
        const count = (kind: string, line: string) =>
          diff.filter((each) => each.kind === kind && each.line === line).length;
        for (const line of ['a', 'b', 'c', 'd']) {
          const [had, has] = [before, after].map((list) => list.filter((each) => each === line).length);
          expect((had ?? 0) - count('removed', line) + count('added', line)).toBe(has);
        }
      }),
    );
  });
});
