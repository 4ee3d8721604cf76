import { describe, expect, it } from 'vitest';
import { problemsOf, stackOf } from './testing/resolving.ts';

const stack = (state: string) => `version: 1\nstack: s\nstate: ${state}\n`;

describe('the section "state"', () => {
  it.each([
    ['{ local: true }', { local: true }],
    ['{ keep_runs: 500 }', { keep_runs: 500 }],
    ['{ s3: { bucket: infra }, keep_runs: 10 }', { s3: { bucket: 'infra' }, keep_runs: 10 }],
  ])('may be %s', (text, state) => {
    expect(stackOf(stack(text)).state).toEqual(state);
  });

  it.each([
    ['no store and nothing else', '{}'],
    ['two stores', '{ local: true, s3: { bucket: infra } }'],
    ['two stores together with the number of runs', '{ local: true, s3: { bucket: infra }, keep_runs: 50 }'],
    ['too few runs', '{ keep_runs: 3 }'],
    ['a value that is not a number', '{ keep_runs: many }'],
  ])('is refused with %s', (_, text) => {
    expect(problemsOf(stack(text))).toHaveLength(1);
  });
});
