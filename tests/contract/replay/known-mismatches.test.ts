import { describe, expect, it } from 'vitest';
import { complaintsAbout } from './known-mismatches.ts';

const result = (...steps: string[]) => ({
  scenario: 'made-up',
  ok: 0,
  total: 2,
  mismatches: steps.map((step) => ({
    step,
    request: 'GET /x',
    mismatches: [{ path: 'status', expected: '200', got: '501' }],
  })),
});

describe('the list of known mismatches', () => {
  it('excuses what it names', () => {
    expect(complaintsAbout(result('s1'), { 'made-up': { s1: 'not simulated' } })).toEqual([]);
  });

  it('does not excuse another step', () => {
    expect(complaintsAbout(result('s1', 's2'), { 'made-up': { s1: 'not simulated' } })).toEqual([
      '  s2  GET /x\n      status: expected 200, got 501',
    ]);
  });

  it('complains about an entry that matches now', () => {
    expect(complaintsAbout(result(), { 'made-up': { s1: 'not simulated' } })).toEqual([
      expect.stringContaining('s1  matches now'),
    ]);
  });
});
