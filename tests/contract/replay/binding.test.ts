// biome-ignore-all lint/suspicious/noTemplateCurlyInString: recorded placeholders are written like this
import { describe, expect, it } from 'vitest';
import { Binding } from './binding.ts';

const NOW_SECONDS = 1_800_000_000;
const fresh = () => new Binding(() => NOW_SECONDS * 1000, { exactTime: true });

describe('a binding', () => {
  it('holds a placeholder to the first value it stood for', () => {
    const binding = fresh();
    expect(binding.match('uuid=${uuid:1}', 'uuid=00000000-0000-4000-8000-000000000001')).toBeUndefined();
    expect(binding.match('${uuid:1}', '00000000-0000-4000-8000-000000000001')).toBeUndefined();
    expect(binding.match('${uuid:1}', '00000000-0000-4000-8000-000000000002')).toBeDefined();
  });

  it.each([
    ['upid', 'UPID:pve1:00000001:00000002:00000003:qmstart:100:root@pam:'],
    ['mac', 'BC:24:11:00:00:01'],
    ['uuid', '00000000-0000-4000-8000-000000000001'],
    ['digest', 'ab'.repeat(20)],
    ['rand', 'ab'.repeat(16)],
  ])('refuses the same %s for two placeholders', (kind, value) => {
    const binding = fresh();
    expect(binding.match(`\${${kind}:1}`, value)).toBeUndefined();
    expect(binding.match(`\${${kind}:2}`, value)).toBeDefined();
  });

  it('lets two process ids be equal', () => {
    const binding = fresh();
    expect(binding.match('${pid:1}', 42)).toBeUndefined();
    expect(binding.match('${pid:2}', 42)).toBeUndefined();
  });

  it('tolerates 15 seconds between two sightings of one time and no more', () => {
    const binding = fresh();
    expect(binding.match('${time:1}', NOW_SECONDS)).toBeUndefined();
    expect(binding.match('ctime=${time:1}', `ctime=${NOW_SECONDS + 15}`)).toBeUndefined();
    expect(binding.match('${time:1}', NOW_SECONDS - 15)).toBeUndefined();
    expect(binding.match('${time:1}', NOW_SECONDS + 16)).toBeDefined();
  });

  it('adds the time since the first sighting where the clock does not wait for the replay', () => {
    let now = NOW_SECONDS;
    const binding = new Binding(() => now * 1000, { exactTime: false });
    expect(binding.match('${time:1}', NOW_SECONDS)).toBeUndefined();
    expect(binding.match('${time:1}', NOW_SECONDS + 16)).toBeDefined();
    now += 20;
    expect(binding.match('${time:1}', NOW_SECONDS + 35)).toBeUndefined();
    expect(binding.match('${time:1}', NOW_SECONDS + 36)).toBeDefined();
    expect(binding.match('${time:1}', NOW_SECONDS - 16)).toBeDefined();
  });

  it('refuses a new time that is hours away from now', () => {
    expect(fresh().match('${time:1}', NOW_SECONDS - 7200)).toBeUndefined();
    expect(fresh().match('${time:1}', NOW_SECONDS - 7201)).toBeDefined();
  });

  it('wants a number for a whole numeric placeholder and a string where it says so', () => {
    expect(fresh().match('${hostnum}', 0.5)).toBeUndefined();
    expect(fresh().match('${hostnum}', '0.5')).toBeDefined();
    expect(fresh().match('${time:1:s}', String(NOW_SECONDS))).toBeUndefined();
    expect(fresh().match('${time:1:s}', NOW_SECONDS)).toBeDefined();
  });

  it('never binds dates and numbers of the host', () => {
    const binding = fresh();
    expect(binding.match('${date} ${hostnum}', '2026-01-01 00:00:00 1')).toBeUndefined();
    expect(binding.match('${date} ${hostnum}', '2027-01-01 00:00:00 2')).toBeUndefined();
    expect(binding.match('${date}', 'yesterday')).toBeDefined();
  });

  it('forgets what a failed attempt bound, and keeps what a successful one did', () => {
    const binding = fresh();
    binding.tentatively(() => [binding.match('${mac:1}', 'BC:24:11:00:00:01'), 'a mismatch']);
    expect(binding.get('mac:1')).toBeUndefined();
    binding.tentatively(() => {
      binding.match('${mac:1}', 'BC:24:11:00:00:02');
      return [];
    });
    expect(binding.get('mac:1')).toBe('BC:24:11:00:00:02');
    expect(binding.withoutTrace(() => binding.match('${mac:2}', 'BC:24:11:00:00:03'))).toBeUndefined();
    expect(binding.get('mac:2')).toBeUndefined();
  });

  it('fills placeholders into what is sent, and says which one has no value yet', () => {
    const binding = fresh();
    binding.set('digest:1', 'abc');
    expect(binding.fill({ digest: '${digest:1}', list: ['x-${digest:1}', 1] })).toEqual({
      digest: 'abc',
      list: ['x-abc', 1],
    });
    expect(() => binding.fill('${upid:s1}')).toThrow('${upid:s1}');
  });
});
