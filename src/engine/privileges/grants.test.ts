import { describe, expect, it } from 'vitest';
import { judgeTags } from './grants.ts';

/** As a server answers: to everybody what is allowed, and to some the settings as well. */
const seen = (
  allowed: readonly string[],
  more: { readonly inUse?: readonly string[]; readonly settings?: object } = {},
) => ({
  options: { mac_prefix: undefined, 'allowed-tags': [...allowed], ...more.settings },
  isComplete: more.settings !== undefined,
  inUse: new Set(more.inUse),
});

describe('tags, to a token that may read the settings of the datacenter', () => {
  it('are allowed where everybody may make up new ones, unless they are registered', () => {
    expect(judgeTags(['new'], seen([], { settings: {} }))).toBe('allowed');
    const settings = { 'registered-tags': 'prod;live' };
    expect(judgeTags(['new', 'prod'], seen([], { settings }))).toEqual({ reserved: ['prod'] });
    expect(judgeTags(['live'], seen([], { settings: { 'registered-tags': ['live'] } }))).toEqual({
      reserved: ['live'],
    });
  });

  it.each(['none', 'list', 'existing'])(
    'are reserved beyond those that are offered, where user-allow is %s',
    (allow) => {
      for (const access of [`user-allow=${allow}`, { 'user-allow': allow }]) {
        const sight = seen(['offered'], { settings: { 'user-tag-access': access } });
        expect(judgeTags(['offered'], sight)).toBe('allowed');
        expect(judgeTags(['offered', 'new'], sight)).toEqual({ reserved: ['new'] });
      }
    },
  );
});

describe('tags, to a token that may not', () => {
  it('are allowed where they are offered, and otherwise not known', () => {
    expect(judgeTags(['offered'], seen(['offered']))).toBe('allowed');
    expect(judgeTags(['offered', 'new'], seen(['offered']))).toEqual({ unknown: ['new'] });
  });

  it('are reserved where a VM in sight has one that is not offered', () => {
    expect(judgeTags(['prod'], seen(['web'], { inUse: ['prod', 'web'] }))).toEqual({ reserved: ['prod'] });
    expect(judgeTags(['web', 'new'], seen(['web'], { inUse: ['prod', 'web'] }))).toEqual({ unknown: ['new'] });
  });
});
