import { describe, expect, it } from 'vitest';
import { judgeTags } from './grants.ts';

/** As a server answers: every caller reads what is allowed, and some also read the settings. */
const seen = (
  allowed: readonly string[],
  more: { readonly inUse?: readonly string[]; readonly settings?: object } = {},
) => ({
  options: { mac_prefix: undefined, 'allowed-tags': [...allowed], ...more.settings },
  isComplete: more.settings !== undefined,
  inUse: new Set(more.inUse),
});

describe('tags, for a token that may read the datacenter settings', () => {
  it('are allowed if users may create tags, unless they are registered', () => {
    expect(judgeTags(['new'], seen([], { settings: {} }))).toBe('allowed');
    const settings = { 'registered-tags': 'prod;live' };
    expect(judgeTags(['new', 'prod'], seen([], { settings }))).toEqual({ reserved: ['prod'] });
    expect(judgeTags(['live'], seen([], { settings: { 'registered-tags': ['live'] } }))).toEqual({
      reserved: ['live'],
    });
  });

  it.each(['none', 'list', 'existing'])('are reserved unless listed as allowed, if user-allow is %s', (allow) => {
    for (const access of [`user-allow=${allow}`, { 'user-allow': allow }]) {
      const rights = seen(['offered'], { settings: { 'user-tag-access': access } });
      expect(judgeTags(['offered'], rights)).toBe('allowed');
      expect(judgeTags(['offered', 'new'], rights)).toEqual({ reserved: ['new'] });
    }
  });
});

describe('tags, for a token that may not read the datacenter settings', () => {
  it('are allowed if listed, and otherwise unknown', () => {
    expect(judgeTags(['offered'], seen(['offered']))).toBe('allowed');
    expect(judgeTags(['offered', 'new'], seen(['offered']))).toEqual({ unknown: ['new'] });
  });

  it('are reserved if a visible VM has them and they are not listed', () => {
    expect(judgeTags(['prod'], seen(['web'], { inUse: ['prod', 'web'] }))).toEqual({ reserved: ['prod'] });
    expect(judgeTags(['web', 'new'], seen(['web'], { inUse: ['prod', 'web'] }))).toEqual({ unknown: ['new'] });
  });
});
