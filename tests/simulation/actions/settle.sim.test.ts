/** What a run finds out about a step that an earlier run began and did not end. */
import { describe, expect, it } from 'vitest';
import { Bench, CLONE, WEB } from './bench.ts';

describe('settling an open step', () => {
  it('waits for a clone that still runs and starts nothing', async () => {
    const bench = new Bench();
    bench.killAt = 8;
    await bench.mortally(() => bench.step('vm.clone', CLONE));
    expect(bench.tasks('qmclone')).toEqual(['runs']);
    bench.requests.length = 0;
    expect(await bench.clock.run(() => bench.takeUp())).toBe('made');
    expect(bench.writes()).toEqual([]);
    expect(bench.records.get(WEB)?.recorded).toMatchObject({ phase: 'incomplete', uuid: expect.any(String) });
  });

  it('says that nothing was done where the request was never sent', async () => {
    const bench = new Bench();
    bench.killAt = 3;
    await bench.mortally(() => bench.step('vm.clone', CLONE));
    expect(await bench.clock.run(() => bench.takeUp())).toBe('nothing');
    expect(bench.records.get(WEB)?.recorded).toBeUndefined();
  });

  it.each([-3_600_000, 3_600_000])('waits 30 seconds at most, although the clock was set by %i ms', async (jumpMs) => {
    const bench = new Bench();
    bench.killAt = 3;
    await bench.mortally(() => bench.step('vm.clone', CLONE));
    const record = bench.records.get(WEB);
    const open = record?.open;
    // As if the run had been killed before the clock was set.
    if (record && open)
      record.open = { ...open, intent: { ...(open.intent as object), sentAt: bench.clock.now() - jumpMs } };
    const before = bench.clock.now();
    expect(await bench.clock.run(() => bench.takeUp())).toBe('nothing');
    expect(bench.clock.now() - before).toBeLessThan(31_000);
  });

  it('does not take a stranger for ours who got the id meanwhile', async () => {
    const bench = new Bench();
    bench.killAt = 3;
    await bench.mortally(() => bench.step('vm.clone', CLONE));
    bench.revive();
    await bench.clock.run(async () => {
      const upid = await bench.pve.node('pve1').vms.create({ vmid: 101, name: 'stranger' });
      await bench.pve.tasks.wait(upid);
      expect(await bench.takeUp()).toBe('nothing');
    });
    expect(bench.config('name')).toBe('stranger');
  });

  it('names the command for a clone that a dead node left locked', async () => {
    const bench = new Bench();
    bench.killAt = 8;
    await bench.mortally(() => bench.step('vm.clone', CLONE));
    await bench.clock.advance(60_000);
    const vm = bench.vm();
    vm.config = { ...vm.config, current: new Map([...vm.config.current, ['lock', 'clone']]) };
    expect(await bench.clock.run(() => bench.takeUp())).toBe('locked');
    expect(bench.logs.filter(({ level }) => level === 'warn')).toEqual([
      { level: 'warn', message: expect.stringMatching(/^vm\.web: .*lock.*qm unlock 101/) },
    ]);
  });
});
