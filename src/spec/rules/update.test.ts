import { describe, expect, it } from 'vitest';
import { problemsOf, webStack } from '../testing/resolving.ts';

describe('the update settings of a group', () => {
  it.each([
    [
      'members that disagree',
      'count: 2\noverrides: { 2: { name: other, update: { max_unavailable: 2 } } }',
      '"update.max_unavailable" is for the whole group, but vm.web[2] and vm.web[1] have different values.',
    ],
    ['no unavailable member', 'update: { max_unavailable: 0 }', 'error BAD_VALUE'],
    ['more than all members', 'update: { max_unavailable: 120% }', 'a number from 1, or a percentage such as 25%'],
  ])('refuse %s', (_, lines, expected) => {
    expect(problemsOf(webStack(lines))).toEqual([expect.stringContaining(expected)]);
  });

  it('accept a percentage of the members', () => {
    expect(problemsOf(webStack('update: { max_unavailable: 25%, pause: 30s, on_failure: continue }'))).toEqual([]);
  });
});
