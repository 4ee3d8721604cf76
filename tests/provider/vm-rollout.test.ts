/** Many VMs in one process: limits hold, waits end in time, and after Ctrl-C the state matches the VMs. */
import { describe, expect, it } from 'vitest';
import { guestState } from '../../src/simulator/guests/guest.ts';
import { rolloutOf } from '../../src/spec/sections/sections.ts';
import { rolloutSchema } from '../../src/spec/stack-schema.ts';
import { codes, make, SMALL, told, withMade } from './support/small-vms.ts';
import { hasErrors, ToyHost } from './support/toy-host.ts';
import { VmBench } from './support/vm-bench.ts';

const rollout = (written: Record<string, unknown>) => rolloutOf(rolloutSchema.parse(written));

/** Of so many VMs at once: when each task of a type began and ended. */
async function spans(count: number, written: Record<string, unknown>, type: string) {
  const bench = new VmBench();
  const { resource } = bench.process({ rollout: rollout(written) });
  await bench.run(async () => {
    const names = Array.from({ length: count }, (_, index) => `web-${index + 1}`);
    await Promise.all(names.map((name) => make(new ToyHost(resource), { ...SMALL, name })));
  });
  return [...bench.world.tasks.values()]
    .filter((task) => task.type === type)
    .map((task) => ({ from: task.startedAt, to: task.endedAt ?? Number.POSITIVE_INFINITY }))
    .sort((a, b) => a.from - b.from);
}

const mostAtOnce = (all: readonly { from: number; to: number }[]) =>
  Math.max(...all.map((one) => all.filter((other) => other.from <= one.from && one.from < other.to).length));

describe('many VMs in one process', () => {
  it('begin no sooner after each other than the stagger says, however many the host starts at once', async () => {
    const begun = await spans(6, { stagger: '20s', limits: { clones_per_node: 6, clones_per_storage: 6 } }, 'qmclone');
    expect(begun).toHaveLength(6);
    for (const [index, { from }] of begun.slice(1).entries()) {
      // As the server sees it: a request may take a little longer than the next.
      expect(from - (begun[index]?.from ?? 0)).toBeGreaterThan(19_500);
    }
  });

  it.each([1, 2, 3])('clone %d at a time where the limit says so', async (limit) => {
    const limits = { clones_per_node: limit, clones_per_storage: limit, vms: 10 };
    expect(mostAtOnce(await spans(6, { limits }, 'qmclone'))).toBe(limit);
  });
});

describe('VMs that are destroyed and made again by one process', () => {
  it('have the ids they had, also those that were still there when the first one was made', async () => {
    const bench = new VmBench();
    const configs = [600, 601, 602].map((vmid) => ({ ...SMALL, name: `web-${vmid}`, vmid, power: 'stopped' }));
    await bench.run(async () => {
      const { resource: first } = bench.process();
      const { resource } = bench.process();
      const hosts = configs.map(() => new ToyHost(first));
      await Promise.all(hosts.map((host, index) => make(host, configs[index] ?? SMALL)));
      for (const [index, { instance }] of hosts.entries()) {
        const host = new ToyHost(resource);
        host.instance = instance;
        expect(codes((await host.apply(null)).diagnostics)).toEqual([]);
        await make(host, configs[index] ?? SMALL);
      }
    });
    expect([...bench.world.vms.values()].map(({ vmid }) => vmid)).toEqual(expect.arrayContaining([600, 601, 602]));
  });
});

describe('VMs that are restarted by one process', () => {
  const config = (name: string, memory: string) => ({
    ...SMALL,
    name,
    guest: 'cloud-init',
    power: 'running',
    restart: 'when_needed',
    memory,
  });
  const NAMES = ['web-1', 'web-2', 'web-3'];

  /** The largest number of them that did not answer at the same time, by the world's own clock. */
  async function mostDown(
    disturb: (bench: VmBench) => void = () => {},
    handling: (name: string) => Record<string, unknown> = () => ({}),
  ) {
    const bench = new VmBench();
    return bench.run(async () => {
      const made = NAMES.map(() => new ToyHost(bench.process().resource));
      await Promise.all(made.map((host, index) => make(host, config(NAMES[index] ?? '', '2GiB'))));
      const process = bench.process({ rollout: rollout({ readiness: 'parallel', timeouts: { ready: '2m' } }) });
      let most = 0;
      bench.onRequest = () => {
        const up = NAMES.filter((name) => guestState(bench.vm(name).process, bench.clock.now()).agentAnswers);
        most = Math.max(most, NAMES.length - up.length);
      };
      disturb(bench);
      const ends = await Promise.all(
        made.map(({ instance }, index) => {
          const host = new ToyHost(process.resource);
          host.instance = instance;
          const name = NAMES[index] ?? '';
          return host.apply({ ...config(name, '3GiB'), ...handling(name) });
        }),
      );
      return {
        most,
        codes: ends.flatMap(({ diagnostics }) => codes(diagnostics)),
        restarts: bench.tasks('qmshutdown'),
      };
    });
  }

  it('are down one at a time, each when the one before is ready again', async () => {
    expect(await mostDown()).toMatchObject({ most: 1, restarts: ['OK', 'OK', 'OK'] });
  });

  it('are down together as far as max_unavailable of their group allows', async () => {
    const end = await mostDown(undefined, () => ({ update_group: 'web', max_unavailable: 2 }));
    expect(end).toMatchObject({ most: 2, restarts: ['OK', 'OK', 'OK'] });
  });

  it('do not wait for VMs of another group', async () => {
    const end = await mostDown(undefined, (name) => ({ update_group: name === 'web-1' ? 'a' : 'b' }));
    expect(end).toMatchObject({ most: 2, restarts: ['OK', 'OK', 'OK'] });
  });

  it('are refused with a limit that is no count', async () => {
    const end = await mostDown(undefined, () => ({ max_unavailable: 0 }));
    expect(end.restarts).toEqual([]);
    expect(end.codes).toContain('BAD_VALUE');
  });

  it('stay as they are once one of them did not become ready', async () => {
    const end = await mostDown((bench) => {
      const look = bench.onRequest;
      bench.onRequest = (line) => {
        look(line);
        const [off] = NAMES.map((name) => bench.vm(name)).filter(
          ({ process }) => process?.launched.get('memory') === '3072',
        );
        if (off?.process) off.process.qmpStatus = 'paused';
      };
    });
    expect(end).toMatchObject({ most: 1, restarts: ['OK'] });
    expect(end.codes.filter((code) => code === 'ROLL_STOPPED')).toHaveLength(2);
  });
});

describe('a VM that a killed process left off in the middle of its restart', () => {
  const config = (name: string, memory: string) => ({
    ...SMALL,
    name,
    guest: 'cloud-init',
    power: 'running',
    restart: 'when_needed',
    memory,
  });
  it.each([
    ['first', ['web-1', 'web-2', 'web-3']],
    ['last', ['web-3', 'web-2', 'web-1']],
  ])('is brought back, and counts as unavailable until it is ready, if the host asks for it %s', async (_, NAMES) => {
    const bench = new VmBench();
    await bench.run(async () => {
      const made = NAMES.map(() => new ToyHost(bench.process().resource));
      await Promise.all(made.map((host, index) => make(host, config(NAMES[index] ?? '', '2GiB'))));
      const { work } = bench.process().deps;
      // What the killed process did before it died: the new memory waits for a restart, and the VM is off.
      const { vmid } = bench.vm('web-1');
      await work.node('pve1').vm(vmid).config.put({ memory: '3072' });
      await work.tasks.wait(await work.node('pve1').vm(vmid).status.shutdown({}));
      const process = bench.process({ rollout: rollout({ readiness: 'parallel' }) });
      let most = 0;
      bench.onRequest = () => {
        const up = NAMES.filter((name) => guestState(bench.vm(name).process, bench.clock.now()).agentAnswers);
        most = Math.max(most, NAMES.length - up.length);
      };
      const hosts = made.map(({ instance }) => Object.assign(new ToyHost(process.resource), { instance }));
      for (const host of hosts) await host.refresh();
      const ends = await Promise.all(hosts.map((host, index) => host.apply(config(NAMES[index] ?? '', '3GiB'))));
      expect(ends.filter(({ diagnostics }) => hasErrors(diagnostics))).toEqual([]);
      expect(NAMES.map((name) => bench.vm(name).process?.launched.get('memory'))).toEqual(['3072', '3072', '3072']);
      expect(most).toBe(1);
    });
  });
});

describe('a wait', () => {
  it("is limited by the resource's own timeouts", async () => {
    const bench = new VmBench({ faults: [{ kind: 'agent-silent', for_ms: 3_600_000 }] });
    const waiting = { ...SMALL, guest: 'cloud-init' };
    await bench.run(async () => {
      const { resource } = bench.process();
      const startedAt = bench.clock.now();
      const impatient = await new ToyHost(resource).apply({ ...waiting, timeouts: { ready: '40s' } });
      const tookMs = bench.clock.now() - startedAt;
      expect(codes(impatient.diagnostics)).toContain('AGENT_SILENT');
      expect(tookMs).toBeGreaterThan(40_000);
      expect(tookMs).toBeLessThan(120_000);
    });
  });

  it('is refused at its attribute if it cannot be read', async () => {
    const { host } = new VmBench().process();
    const refused = await host.validate({ ...SMALL, timeouts: { ready: 'soon' } });
    expect(refused.map(told)[0]).toMatch(/^error timeouts.*soon/);
  });
});

describe('Ctrl-C', () => {
  const WAITED_FOR = { ...SMALL, guest: 'cloud-init' };

  it.each([
    ['while it is cloned', /tasks\/UPID.*qmclone/],
    ['while it is configured', /^PUT \/nodes\/pve1\/qemu\/\d+\/config/],
    ['while it is started', /tasks\/UPID.*qmstart/],
    ['while its guest is waited for', /\/agent\/network-get-interfaces/],
  ])('leaves no state in a creation, %s, and a VM that the next one completes', async (_, when) => {
    const bench = new VmBench();
    await bench.run(async () => {
      const first = bench.process();
      bench.onRequest = (line) => {
        if (when.test(line)) first.abort.abort();
      };
      const stopped = await first.host.apply(WAITED_FOR);
      bench.onRequest = () => {};
      expect(stopped.diagnostics.map(({ summary }) => summary)).toEqual(['Stopped', 'An incomplete VM stays']);
      expect(first.host.instance).toBeUndefined();
      const { vmid } = bench.vm('web');
      const { host } = bench.process();
      await make(host, WAITED_FOR);
      expect(host.state.vmid).toBe(vmid);
      expect((await bench.process().host.import('web')).map(told)).toEqual([]);
    });
  });

  it('stops one call and leaves the other calls of the process alone', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const { host, resource } = bench.process();
      const call = new AbortController();
      host.call = call.signal;
      const other = new ToyHost(resource);
      bench.onRequest = (line) => {
        if (/\/agent\/network-get-interfaces/.test(line)) call.abort();
      };
      const [stopped, made] = await Promise.all([
        host.apply(WAITED_FOR),
        other.apply({ ...WAITED_FOR, name: 'other' }),
      ]);
      expect(stopped.diagnostics.map(({ summary }) => summary)).toEqual(['Stopped', 'An incomplete VM stays']);
      expect(made.diagnostics).toEqual([]);
      expect(other.state.name).toBe('other');
    });
  });

  it('loses nothing when everything is done and only the mark is left to remove', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const { host, abort } = bench.process();
      let writes = 0;
      bench.onRequest = (line) => {
        if (/^PUT \/nodes\/pve1\/qemu\/\d+\/config/.test(line) && ++writes === 2) abort.abort();
      };
      const made = await host.apply(SMALL);
      bench.onRequest = () => {};
      const marked = bench.vm('web').config.current.get('description')?.includes('state=incomplete');
      // Either the host has the VM in its state, or the next creation completes it.
      expect(hasErrors(made.diagnostics)).toBe(marked);
      expect(host.instance === undefined).toBe(marked);
    });
  });

  it('leaves a state in an update that matches the VM', async () => {
    const changed = { ...SMALL, memory: '2GiB', tags: ['changed'], restart: 'when_needed' };
    await withMade(SMALL, async (bench, next) => {
      await bench.clock.sleep(60_000);
      const { host, abort } = next();
      bench.onRequest = (line) => {
        if (/tasks\/UPID.*qmshutdown/.test(line)) abort.abort();
      };
      const stopped = await host.apply(changed);
      bench.onRequest = () => {};
      expect(stopped.diagnostics.filter(({ severity }) => severity === 'error').map(({ summary }) => summary)).toEqual([
        'Stopped',
      ]);
      expect(host.state).toMatchObject({ memory: '2GiB', tags: ['changed'], vmid: bench.vm('web').vmid });
      await bench.clock.sleep(300_000);
      expect(bench.vm('web').process).toBeUndefined();
      const after = next();
      await make(after.host, changed);
      expect(bench.vm('web').process).toBeDefined();
      expect(after.host.state).toMatchObject({ status: 'running', restart_pending: [] });
      expect((await next().host.plan(changed)).action).toBe('none');
    });
  });
});

describe('a VM that was switched off', () => {
  const restartable = { ...SMALL, restart: 'when_needed' };

  it('stays off when another client stopped it', async () => {
    await withMade(restartable, async (bench, next) => {
      const pve = bench.outside();
      await pve.tasks.wait(await pve.node('pve1').vm(bench.vm('web').vmid).status.stop());
      const { host } = next();
      expect(await host.plan(restartable)).toEqual({ action: 'none', changed: [], diagnostics: [] });
      expect(host.state.status).toBe('stopped');
      await make(next().host, { ...restartable, memory: '2GiB' });
      expect(bench.vm('web').process).toBeUndefined();
    });
  });

  it('stays off, also if the same token did it, unless a restart was allowed', async () => {
    await withMade(SMALL, async (bench, next) => {
      const { work } = bench.process().deps;
      await work.tasks.wait(await work.node('pve1').vm(bench.vm('web').vmid).status.stop());
      expect((await next().host.plan(SMALL)).action).toBe('none');
      await make(next().host, { ...SMALL, memory: '2GiB' });
      expect(bench.vm('web').process).toBeUndefined();
    });
  });
});
