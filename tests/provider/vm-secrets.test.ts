/** Passwords reach the VM and nothing that the host keeps: not the state, not the plan, not the private state. */
import { describe, expect, it } from 'vitest';
import { make, SMALL, told } from './support/small-vms.ts';
import { type Config, ToyHost } from './support/toy-host.ts';
import { VmBench } from './support/vm-bench.ts';
import { watched } from './support/watched.ts';

const FIRST = 'correct horse battery staple';
const SECOND = 'troubadour and three';

describe.each([
  ['a reference', (): Config => ({ ...SMALL, cloud_init: { password: { env: 'PASSWORD' } } })],
  ['a write-only value', (password: string): Config => ({ ...SMALL, cloud_init: { password_wo: password } })],
])('a password by %s', (_, configOf) => {
  it('is nowhere in what the host keeps; a new one is an update, the same one is none', async () => {
    const bench = new VmBench();
    const kept: string[] = [];
    const hostAfter = (before?: ToyHost) => {
      const watch = watched(bench.process().resource);
      const host = new ToyHost(watch.resource);
      host.instance = before?.instance;
      return { host, done: () => kept.push(...watch.kept) };
    };
    const passwordOf = () =>
      bench.vm('web').config.current.get('cipassword') ?? bench.vm('web').config.pending.get('cipassword');
    await bench.run(async () => {
      bench.secrets.PASSWORD = FIRST;
      const first = hostAfter();
      await make(first.host, configOf(FIRST));
      first.done();
      const stored = passwordOf();
      expect(stored).toMatch(/^\$5\$/);
      const second = hostAfter(first.host);
      expect(await second.host.plan(configOf(FIRST))).toEqual({ action: 'none', changed: [], diagnostics: [] });
      second.done();
      bench.secrets.PASSWORD = SECOND;
      const third = hostAfter(second.host);
      const changed = await third.host.apply(configOf(SECOND));
      expect(changed).toMatchObject({ action: 'update' });
      expect(changed.changed).toContain('secrets_digest');
      third.done();
      expect(passwordOf()).not.toBe(stored);
      const fourth = hostAfter(third.host);
      expect((await fourth.host.plan(configOf(SECOND))).action).toBe('none');
      fourth.done();
    });
    expect(kept.length).toBeGreaterThan(10);
    for (const text of [...kept, ...bench.logs]) {
      for (const secret of [FIRST, SECOND]) expect(text).not.toContain(secret);
    }
  });
});

describe('a write-only password', () => {
  it('is refused by name where the host cannot keep it out of its state', async () => {
    const { host } = new VmBench().process();
    const config = { ...SMALL, cloud_init: { password_wo: FIRST } };
    expect(await host.validate(config, true)).toEqual([]);
    const [refused, ...more] = await host.validate(config, false);
    expect(refused?.detail).toContain('write-only');
    expect(more).toEqual([]);
    const both = { ...SMALL, cloud_init: { password_wo: FIRST, password: { env: 'PASSWORD' } } };
    expect((await host.validate(both)).map(told)).toEqual([
      'error cloud_init: password and password_wo cannot be used together.',
    ]);
  });
});
