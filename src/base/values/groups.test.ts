import { expect, it } from 'vitest';
import { groupedBy, rangesOf } from './groups.ts';

it('groups items by a key and keeps their order', () => {
  expect([...groupedBy(['b1', 'a1', 'b2'], (text) => text[0])]).toEqual([
    ['b', ['b1', 'b2']],
    ['a', ['a1']],
  ]);
});

it.each([
  [[], ''],
  [[7], '7'],
  [[3, 1, 2], '1–3'],
  [[1, 3, 4, 4, 9], '1, 3–4, 9'],
])('prints %j as %j', (numbers, text) => {
  expect(rangesOf(numbers)).toBe(text);
});
