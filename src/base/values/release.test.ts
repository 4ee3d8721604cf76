import { describe, expect, it } from 'vitest';
import { compareReleases, isSince, minorRelease } from './release.ts';

describe('releases', () => {
  it('are ordered as numbers, not as text', () => {
    const sorted = ['9.2.11', '8.10', '9.2.5', '8.4.14', '9.0'].sort(compareReleases);
    expect(sorted).toEqual(['8.4.14', '8.10', '9.0', '9.2.5', '9.2.11']);
  });

  it('include the release itself and every later one', () => {
    expect(isSince('9.0', '9.0')).toBe(true);
    expect(isSince('9.0.0~11', '9.0')).toBe(true);
    expect(isSince('8.4.14', '9.0')).toBe(false);
    expect(isSince('8.3.3', '8.3.4')).toBe(false);
    expect(isSince('10.0.1', '9.2')).toBe(true);
  });

  it('are named by two numbers', () => {
    expect(minorRelease('9.2.11')).toBe('9.2');
    expect(minorRelease('8.4')).toBe('8.4');
  });
});
