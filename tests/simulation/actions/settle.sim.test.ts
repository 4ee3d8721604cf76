/** What a run finds out about a step that an earlier run began and did not end. */
import { describe, expect, it } from 'vitest';
import type { OpenAct } from '../../../src/kinds/action.ts';
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

  describe.each([-3_600_000, 3_600_000])('where the clock was set by %i ms since the run was killed', (jumpMs) => {
    it('waits for a clone for the 30 seconds in which it can arrive, and no longer', async () => {
      const bench = new Bench();
      bench.killAt = 3;
      await bench.mortally(() => bench.step('vm.clone', CLONE));
      const record = bench.records.get(WEB);
      if (record?.open) record.open = sentBefore(bench, record.open, jumpMs);
      const before = bench.clock.ticks();
      expect(await bench.clock.run(() => bench.takeUp())).toBe('nothing');
      const waitedMs = bench.clock.ticks() - before;
      expect(waitedMs).toBeGreaterThanOrEqual(30_000);
      expect(waitedMs).toBeLessThan(31_000);
    });

    it('sees a DELETE that arrives after 29 seconds, before anything else can have the id', async () => {
      const bench = new Bench();
      await bench.run('vm.clone', CLONE);
      const record = bench.records.get(WEB);
      const open = { action: 'vm.destroy', intent: { vmid: 101, node: 'pve1', destroy: true }, upid: undefined };
      if (record) record.open = sentBefore(bench, open, jumpMs);
      const late = bench.connect();
      const [outcome] = await bench.clock.run(() =>
        Promise.all([
          bench.takeUp(),
          bench.clock.sleep(29_000).then(() => late.node('pve1').vm(101).destroy({ purge: true })),
        ]),
      );
      expect(outcome).toBe('gone');
      expect(record?.recorded).toBeUndefined();
    });
  });

  it('keeps a clone whose request arrives after the VM was looked for and before its id was', async () => {
    const bench = new Bench();
    bench.killAt = 3;
    await bench.mortally(() => bench.step('vm.clone', CLONE));
    const late = bench.connect();
    const nonce = bench.records.get(WEB)?.recorded?.nonce;
    const description = `proxwright: stack=lab address=vm.web vmid=101 nonce=${nonce}`;
    bench.before = async (line) => {
      if (!line.startsWith('GET /cluster/nextid')) return;
      bench.before = undefined;
      await late.node('pve1').vm(9000).clone({ newid: 101, name: 'web', full: true, description });
      while (!bench.world.vms.has(101)) await bench.clock.sleep(10);
    };
    expect(await bench.clock.run(() => bench.takeUp())).toBe('made');
    expect(bench.records.get(WEB)?.recorded).toMatchObject({ vmid: 101, phase: 'incomplete' });
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

/** As a run that was killed right now would have recorded it, before the clock was set by `jumpMs`. */
function sentBefore(bench: Bench, open: OpenAct, jumpMs: number): OpenAct {
  return { ...open, intent: { ...(open.intent as object), sentAt: bench.clock.now() - jumpMs } };
}
