/**
 * Waiting for guests of the simulator on virtual time: what counts as ready, how a wait that fails ends, and that guests
 * which never answer do not starve the server.
 */
import { describe, expect, it } from 'vitest';
import { vmAddress } from '../../src/base/address.ts';
import { readinessSchedule } from '../../src/engine/ready/schedule.ts';
import type { VmFieldsInput } from '../../src/kinds/vm/fields/index.ts';
import { bench, FIRST } from './readiness-bench.ts';

const asked = (requests: readonly string[]) => requests.map((request) => request.replace(/.*\//, ''));

describe('a cloud-init guest', () => {
  it('is ready when its agent answers, its address is known and its system described', async () => {
    const { clock, start, wait, traffic, progress } = bench();
    const readiness = await clock.run(async () => {
      await start();
      return wait();
    });
    expect(readiness.addresses).toEqual({ net0: [expect.stringMatching(/^10\.0\.0\.\d+$/)] });
    // The network of this guest is up a second after its agent, so its addresses may be asked for twice.
    const questions = asked(traffic.agentRequests).join(' ');
    expect(questions).toMatch(/^(network-get-interfaces )+get-osinfo$/);
    expect(progress).toEqual([
      'waiting for its guest agent to answer, up to 10m 0s',
      'waiting for an address on net0, up to 10m 0s',
      'waiting for its agent to describe the operating system, up to 10m 0s',
    ]);
  });

  it('is noticed soon after it came up: within one question, one pause and the pings', async () => {
    const { clock, start, wait, processOf } = bench();
    await clock.run(async () => {
      await start();
      await wait();
    });
    // The agent of this profile answers 11 s after the start, the network is up after 12 s.
    expect(clock.now() - processOf().startedAt).toBeLessThan(12_000 + 3_000 + 1_000 + 2_500);
  });

  it('must answer in a row: one ping lost in between and it begins again', async () => {
    const { clock, start, wait, traffic } = bench({
      faults: [{ kind: 'agent-silent', match: { method: 'POST', path: 'agent/ping' }, at: 3, for_ms: 4_000 }],
    });
    await clock.run(async () => {
      await start();
      await clock.sleep(60_000);
      await wait({ guest: 'cloud-init', ready: { pings: 5 } });
    });
    // Addresses, system and two pings are four answers, then one is lost; then five in a row.
    const questions = ['network-get-interfaces', 'get-osinfo', 'ping', 'ping', 'ping'];
    expect(asked(traffic.agentRequests)).toEqual([...questions, ...questions]);
  });

  it('waits for the address that the stack gives, and reports it first', async () => {
    const { clock, start, wait } = bench({
      config: { ide2: 'tank:vm-401-cloudinit,media=cdrom', ipconfig0: 'ip=10.0.20.11/24,gw=10.0.20.1' },
    });
    const nics = { net0: { ipv4: { address: '10.0.20.11/24' } } };
    const readiness = await clock.run(async () => {
      await start();
      return wait({ guest: 'cloud-init', nics });
    });
    expect(readiness.addresses).toEqual({ net0: ['10.0.20.11'] });
  });

  it('is not ready if it has another address than the stack says, and the error names both', async () => {
    const { clock, start, wait } = bench();
    const failing = clock.run(async () => {
      await start();
      return wait({ guest: 'cloud-init', nics: { net0: { ipv4: { address: '10.0.20.11/24' } } } });
    });
    await expect(failing).rejects.toMatchObject({
      code: 'NO_ADDRESS',
      diagnostic: {
        detail: expect.stringMatching(
          /for the address 10\.0\.20\.11 on net0\. The guest reports 10\.0\.0\.\d+ on net0/,
        ),
      },
    });
  });

  it('ends as NO_ADDRESS after its time without DHCP, and is kept', async () => {
    const { clock, start, wait, vmOf } = bench({ config: { net0: 'virtio=BC:24:11:00:01:91,bridge=vmbr1' } });
    const failing = clock.run(async () => {
      await start();
      return wait({ guest: 'cloud-init', ready: { timeout: '5m' } });
    });
    await expect(failing).rejects.toMatchObject({
      code: 'NO_ADDRESS',
      diagnostic: {
        where: { address: 'vm.web[401]', step: 'ready' },
        detail:
          'VM 401 on pve1: waited 5m 0s for an address on net0. The guest reports none on net0 (BC:24:11:00:01:91). The VM is kept.',
      },
    });
    expect(vmOf().process).toBeDefined();
  });

  it.each(['silent-agent', 'never-boots', 'ubuntu-cloud'])(
    'ends as AGENT_SILENT exactly when its time is up: %s',
    async (guest) => {
      const { clock, start, wait, vmOf } = bench({ guest });
      let begun = 0;
      const failing = clock.run(async () => {
        await start();
        begun = clock.now();
        return wait();
      });
      await expect(failing).rejects.toMatchObject({
        code: 'AGENT_SILENT',
        diagnostic: {
          detail:
            'VM 401 on pve1: waited 10m 0s for its guest agent to answer. Its guest agent does not answer. The VM is kept.',
          hint: { text: expect.stringContaining('ready: { agent: false }') },
        },
      });
      expect(clock.now() - begun).toBe(600_000);
      expect(vmOf().process).toBeDefined();
    },
  );

  it('is asked less and less often while it is silent', async () => {
    const { clock, start, wait, traffic } = bench({ guest: 'silent-agent' });
    await clock.run(async () => {
      await start();
      await wait({ guest: 'cloud-init', ready: { timeout: '30m' } }).catch(() => {});
    });
    // 30 minutes at 3 s a question without pauses would be 600.
    expect(traffic.agentRequests.length).toBeLessThan(70);
    expect(traffic.agentRequests.length).toBeGreaterThan(30);
  });

  it('is given up soon if its agent is not enabled', async () => {
    const { clock, start, wait, traffic } = bench({ config: { agent: '0' } });
    const failing = clock.run(async () => {
      await start();
      return wait();
    });
    await expect(failing).rejects.toMatchObject({
      code: 'AGENT_SILENT',
      diagnostic: { hint: { text: expect.stringContaining('agent: { enabled: true }') } },
    });
    expect(traffic.agentRequests.length).toBeLessThan(10);
  });

  it('is given up long before the time limit if another client stops it', async () => {
    const { clock, start, wait, pve } = bench({ guest: 'silent-agent' });
    let stoppedAt = 0;
    const failing = clock.run(async () => {
      await start();
      const waiting = wait({ guest: 'cloud-init', ready: { timeout: '30m' } });
      waiting.catch(() => {});
      await clock.sleep(60_000);
      await pve.tasks.wait(await pve.node('pve1').vm(FIRST).status.stop(), { timeoutMs: 60_000 });
      stoppedAt = clock.now();
      return waiting;
    });
    await expect(failing).rejects.toMatchObject({
      code: 'NOT_RUNNING',
      diagnostic: { detail: expect.stringContaining('The VM is kept.') },
    });
    expect(clock.now() - stoppedAt).toBeLessThan(90_000);
  });

  it('survives hitches of the server', async () => {
    const { clock, start, wait } = bench({
      faults: [
        { kind: 'cut-before', match: { path: 'agent/*' }, every: 3 },
        { kind: 'proxy-timeout', match: { path: 'agent/*' }, every: 7 },
        { kind: 'refuse', match: { path: 'agent/get-osinfo' }, at: 1 },
      ],
    });
    const readiness = await clock.run(async () => {
      await start();
      return wait();
    });
    expect(readiness.addresses.net0).toHaveLength(1);
  });

  it('ends its wait at once when it is canceled', async () => {
    const { clock, start, wait } = bench({ guest: 'silent-agent' });
    const abort = new AbortController();
    let abortedAt = 0;
    const failing = clock.run(async () => {
      await start();
      const waiting = wait(undefined, { signal: abort.signal });
      waiting.catch(() => {});
      await clock.sleep(40_500);
      abortedAt = clock.now();
      abort.abort();
      return waiting;
    });
    await expect(failing).rejects.toMatchObject({ code: 'CANCELED' });
    expect(clock.now()).toBe(abortedAt);
  });
});

describe('a guest that boots', () => {
  const quick = { quick: { boot_ms: 5_000, agent_ms: 500, network_ms: 1_000 } };

  it('gets calls that the server holds until its agent is up if it boots alone', async () => {
    const { clock, start, wait, traffic } = bench({ guest: 'quick', guests: quick });
    await clock.run(async () => {
      await start();
      await wait();
    });
    // Each question is held for three seconds, and it took five and a half; the third one has the address.
    expect(asked(traffic.agentRequests)).toEqual([...Array(3).fill('network-get-interfaces'), 'get-osinfo']);
    expect(asked(traffic.requests)).not.toContain('qemu');
  });

  it('gets no call before its card has sent something if another guest boots too', async () => {
    const { clock, start, wait, traffic, vmids } = bench({ guest: 'quick', guests: quick, count: 2 });
    await clock.run(async () => {
      for (const vmid of vmids) await start(vmid);
      await Promise.all(vmids.map((vmid) => wait(undefined, { vmid })));
    });
    const second = traffic.agentRequests.filter((request) => request.includes(`/${FIRST + 1}/`));
    // Not one question to a silent agent.
    expect(asked(second)).toEqual(['network-get-interfaces', 'network-get-interfaces', 'get-osinfo']);
  });

  it('is not asked before any guest could answer', async () => {
    const { clock, start, wait, traffic, signs } = bench({ guest: 'quick', guests: quick });
    await clock.run(async () => {
      await start();
      signs.started(FIRST, undefined);
      await wait();
    });
    // The first question comes after five seconds and is held for half a second.
    expect(asked(traffic.agentRequests)).toEqual(['network-get-interfaces', 'network-get-interfaces', 'get-osinfo']);
  });

  it('is asked when another one of its template answered, and noticed as soon', async () => {
    const slow = { slow: { boot_ms: 30_000, agent_ms: 500, network_ms: 1_000 } };
    const { clock, start, wait, traffic, vmids, signs, processOf } = bench({ guest: 'slow', guests: slow, count: 4 });
    const lateMs: number[] = [];
    await clock.run(async () => {
      for (const vmid of vmids) {
        await start(vmid);
        signs.started(vmid, 'pve1 9000 first');
        await wait(undefined, { vmid });
        lateMs.push(clock.now() - processOf(vmid).startedAt - 31_000);
      }
    });
    const questions = vmids.map((vmid) => traffic.agentRequests.filter((each) => each.includes(`/${vmid}/`)).length);
    expect(questions[0]).toBeGreaterThan(6);
    expect(questions.slice(1)).toEqual([3, 3, 3]);
    expect(asked(traffic.requests)).not.toContain('qemu');
    expect(Math.max(...lateMs)).toBeLessThan(2_500);
  });

  it('is not asked later because one of another template was slow', async () => {
    const { clock, start, wait, signs, processOf } = bench({ guest: 'quick', guests: quick });
    await clock.run(async () => {
      signs.started(1, 'pve1 9001 first');
      await clock.sleep(120_000);
      signs.answered(1, { atOnce: false });
      await start();
      signs.started(FIRST, 'pve1 9000 first');
      await wait();
    });
    expect(clock.now() - processOf().startedAt).toBeLessThan(10_000);
  });

  it('gets a call later if it sends nothing beside another guest', async () => {
    const guests = { mute: { ...quick.quick, boot_ms: 20_000, network_ms: 3_600_000 } };
    const { clock, start, wait, traffic, vmids } = bench({ guest: 'mute', guests, count: 2 });
    const began = await clock.run(async () => {
      for (const vmid of vmids) await start(vmid);
      const startedAt = clock.now();
      await Promise.all(vmids.map((vmid) => wait({ ready: { agent: true, address: false } }, { vmid })));
      return startedAt;
    });
    expect(traffic.agentRequests.some((request) => request.includes(`/${FIRST + 1}/`))).toBe(true);
    expect(clock.now() - began).toBeLessThan(25_000);
  });

  it('gets a call within its time if that is short and it sends nothing', async () => {
    const { clock, start, wait, traffic } = bench({ guest: 'silent-agent' });
    const failing = clock.run(async () => {
      await start();
      return wait({ guest: 'cloud-init', ready: { timeout: '8s' } });
    });
    await expect(failing).rejects.toMatchObject({ code: 'AGENT_SILENT' });
    expect(traffic.agentRequests.length).toBeGreaterThan(0);
  });

  it('gets a call immediately without a card', async () => {
    const { clock, start, wait, traffic } = bench({ guest: 'silent-agent' });
    const failing = clock.run(async () => {
      await start();
      return wait({ guest: 'cloud-init', ready: { timeout: '8s', address: false } }, { macs: {} });
    });
    await expect(failing).rejects.toMatchObject({ code: 'AGENT_SILENT' });
    expect(asked(traffic.requests)).not.toContain('qemu');
  });

  it('costs the server one list for all fifty of them, and not often', async () => {
    const { clock, start, wait, traffic, vmids } = bench({ guest: 'never-boots', count: 50 });
    const began = await clock.run(async () => {
      for (const vmid of vmids) await start(vmid);
      const startedAt = clock.now();
      const abort = new AbortController();
      const waits = vmids.map((vmid) => wait(undefined, { vmid, signal: abort.signal }).catch(() => {}));
      await clock.sleep(9_000);
      abort.abort();
      await Promise.all(waits);
      return startedAt;
    });
    const lists = traffic.requests.filter((request) => request.endsWith('/nodes/pve1/qemu')).length;
    expect(lists).toBeGreaterThan(5);
    expect(lists).toBeLessThanOrEqual(Math.ceil((clock.now() - began) / 900));
    // One of them at a time has its agent asked.
    expect(new Set(traffic.agentRequests).size).toBe(1);
    expect(traffic.agentRequests.length).toBeLessThanOrEqual(3);
  });
});

describe('settle', () => {
  const settling = { guest: 'cloud-init', ready: { settle: '60s' } } as const;

  it('does not report a guest as ready before everything has held that long', async () => {
    const { clock, start, wait, processOf } = bench();
    await clock.run(async () => {
      await start();
      await wait(settling);
    });
    const uptimeMs = clock.now() - processOf().startedAt;
    expect(uptimeMs).toBeGreaterThan(72_000);
    expect(uptimeMs).toBeLessThan(90_000);
  });

  it('starts over if the guest fails half-way, even if it is back before the end', async () => {
    const { clock, start, wait, processOf } = bench();
    let brokenAt = 0;
    await clock.run(async () => {
      await start();
      const waiting = wait(settling);
      await clock.sleep(45_000);
      brokenAt = clock.now();
      processOf().guestBootedAt = brokenAt;
      await waiting;
    });
    // Booting takes 11 s until the agent answers again, then it must hold for the whole time.
    expect(clock.now() - brokenAt).toBeGreaterThan(71_000);
  });

  it('checks everything again at the end: a VM that lost its address meanwhile is not ready', async () => {
    const { clock, start, wait, vmOf } = bench();
    const failing = clock.run(async () => {
      await start();
      const waiting = wait({ guest: 'cloud-init', ready: { settle: '60s', timeout: '5m' } });
      waiting.catch(() => {});
      await clock.sleep(30_000);
      const { config } = vmOf();
      const current = new Map(config.current).set('net0', 'virtio=BC:24:11:00:01:91,bridge=vmbr0,link_down=1');
      vmOf().config = { ...config, current };
      return waiting;
    });
    await expect(failing).rejects.toMatchObject({ code: 'NO_ADDRESS' });
  });
});

describe('a Talos guest', () => {
  const given = { guest: 'talos', nics: { net0: { ipv4: { address: '10.0.20.11/24' } } } } as const;
  const config = { ide2: 'tank:vm-401-cloudinit,media=cdrom', ipconfig0: 'ip=10.0.20.11/24,gw=10.0.20.1' };

  it('is ready when its API answers on the address of the stack; its agent is not asked', async () => {
    const { clock, start, wait, traffic, processOf } = bench({ guest: 'talos', config });
    const readiness = await clock.run(async () => {
      await start();
      return wait(given);
    });
    expect(readiness.addresses).toEqual({ net0: ['10.0.20.11'] });
    expect(traffic.agentRequests).toEqual([]);
    const uptimeMs = clock.now() - processOf().startedAt;
    expect(uptimeMs).toBeGreaterThanOrEqual(15_000);
    expect(uptimeMs).toBeLessThan(18_000);
  });

  it('is ready once it runs where no address is known', async () => {
    const { clock, start, wait, traffic } = bench({ guest: 'talos' });
    const readiness = await clock.run(async () => {
      await start();
      return wait({ guest: 'talos' });
    });
    expect(readiness).toMatchObject({ addresses: { net0: [] } });
    expect(readiness.waitedMs).toBeLessThan(1_000);
    expect(traffic.agentRequests).toEqual([]);
  });

  it('ends as PORT_CLOSED with the address if its API stays closed', async () => {
    const { clock, start, wait } = bench({ guest: 'never-boots', config });
    const failing = clock.run(async () => {
      await start();
      return wait(given);
    });
    await expect(failing).rejects.toMatchObject({
      code: 'PORT_CLOSED',
      diagnostic: {
        detail:
          'VM 401 on pve1: waited 10m 0s for port 50000 to answer. Nothing answers on 10.0.20.11 port 50000. The VM is kept.',
      },
    });
  });
});

describe('a plain guest', () => {
  it('is ready once it runs', async () => {
    const { clock, start, wait, traffic } = bench({ guest: 'never-boots' });
    const readiness = await clock.run(async () => {
      await start();
      return wait({});
    });
    expect(readiness.waitedMs).toBeLessThan(1_000);
    expect(traffic.agentRequests).toEqual([]);
  });

  it('is given up after a minute if it does not run', async () => {
    const { clock, wait } = bench();
    await expect(clock.run(() => wait({}))).rejects.toMatchObject({ code: 'NOT_RUNNING' });
    expect(clock.now()).toBeLessThan(Date.UTC(2026, 0, 1, 0, 1, 15));
  });

  it('is asked for its address where a port must answer', async () => {
    const { clock, start, wait } = bench();
    const readiness = await clock.run(async () => {
      await start();
      return wait({ ready: { tcp: [22] } });
    });
    expect(readiness.addresses.net0).toHaveLength(1);
  });

  it('is asked whether cloud-init has finished, and whether commands succeed', async () => {
    const { clock, start, wait, traffic } = bench({ config: { ide2: 'tank:vm-401-cloudinit,media=cdrom' } });
    await clock.run(async () => {
      await start();
      await wait({
        ready: {
          cloud_init: true,
          exec: [
            ['uname', '-a'],
            ['sh', '-c', 'sleep 20; true'],
          ],
        },
      });
    });
    expect(asked(traffic.agentRequests)).toContain('file-read');
    expect(asked(traffic.agentRequests).filter((name) => name === 'exec')).toHaveLength(2);
  });

  it.each<[string, VmFieldsInput['ready'], string]>([
    [
      'a command that fails',
      { exec: [['false']] },
      'for "false" in the guest to end with 0. Its agent answers, but the command ended with 1.',
    ],
    [
      'no result of cloud-init',
      { cloud_init: true },
      'for cloud-init to finish. The server answered 500: "Agent error: failed to open file',
    ],
  ])('is not ready with %s, and the error says which and why', async (_name, ready, words) => {
    const { clock, start, wait } = bench();
    const failing = clock.run(async () => {
      await start();
      return wait({ ready: { timeout: '2m', ...ready } });
    });
    await expect(failing).rejects.toMatchObject({ diagnostic: { detail: expect.stringContaining(words) } });
  });
});

describe('the service of the agent', () => {
  const ready = { agent_service: true, timeout: '2m' } as const;

  it('is asked for by a command in the guest, and found active', async () => {
    const { clock, start, wait, traffic, progress } = bench();
    await clock.run(async () => {
      await start();
      await wait({ ready });
    });
    expect(asked(traffic.agentRequests).slice(-2)).toEqual(['exec', 'exec-status']);
    expect(progress.at(-1)).toBe('waiting for its service qemu-guest-agent to be active, up to 2m 0s');
  });

  it.each(['inactive', 'failed', 'activating'] as const)(
    'is not ready while it is %s, in its own words',
    async (state) => {
      const guests = { odd: { agent_service: state } };
      const { clock, start, wait } = bench({ guest: 'odd', guests });
      const failing = clock.run(async () => {
        await start();
        return wait({ ready });
      });
      await expect(failing).rejects.toMatchObject({
        code: 'CHECK_FAILED',
        diagnostic: {
          detail: `VM 401 on pve1: waited 2m 0s for its service qemu-guest-agent to be active. Its agent answers, but "systemctl is-active qemu-guest-agent" in the guest says "${state}". The VM is kept.`,
        },
      });
    },
  );

  it('is not asked for unless the stack does', async () => {
    const { clock, start, wait, traffic } = bench();
    await clock.run(async () => {
      await start();
      await wait();
    });
    expect(asked(traffic.agentRequests)).not.toContain('exec');
  });

  it('needs a privilege of its own, and says which', async () => {
    const { clock, start, wait } = bench({ privileges: ['VM.Audit', 'VM.GuestAgent.Audit', 'VM.PowerMgmt'] });
    const failing = clock.run(async () => {
      await start();
      return wait({ ready });
    });
    await expect(failing).rejects.toMatchObject({
      code: 'PRIVILEGE_MISSING',
      diagnostic: { detail: expect.stringContaining('VM.GuestAgent.Unrestricted') },
    });
  });
});

describe('50 guests whose agents are dead', () => {
  it('do not starve the server: few questions at once, and other requests are answered in time', async () => {
    const { clock, start, wait, traffic, pve, vmids } = bench({ guest: 'silent-agent', count: 50 });
    const delays: number[] = [];
    const outcomes = await clock.run(async () => {
      for (const vmid of vmids) await start(vmid);
      const waits = vmids.map((vmid) =>
        wait(undefined, { vmid }).then(
          () => 'ready',
          (error: { code: string }) => error.code,
        ),
      );
      for (let round = 0; round < 20; round++) {
        await clock.sleep(25_000);
        const before = clock.now();
        await pve
          .node('pve1')
          .vm(FIRST + round)
          .config.put({ description: `round ${round}` });
        delays.push(clock.now() - before);
      }
      return Promise.all(waits);
    });
    expect(outcomes).toEqual(vmids.map(() => 'AGENT_SILENT'));
    expect(traffic.mostAgentCalls).toBe(2);
    // A 596 would have shown as an error, and a queue for workers as a delay.
    expect(Math.max(...delays)).toBeLessThan(1_000);
  });

  it('would starve it without the limit, so the test above can fail', async () => {
    const { clock, start, greedyPve, vmids } = bench({ guest: 'silent-agent', count: 50 });
    const greedy = greedyPve();
    const outcome = await clock.run(async () => {
      for (const vmid of vmids) await start(vmid);
      const ask = (vmid: number) => greedy.node('pve1').vm(vmid).agent.ping();
      const pings = vmids.map((vmid) => ask(vmid).catch(() => {}));
      await clock.sleep(100);
      const change = greedy.node('pve1').vm(FIRST).config.put({ description: 'late' });
      const answer = await change.then(
        () => 'done',
        (error: { code: string }) => error.code,
      );
      await Promise.all(pings);
      return answer;
    });
    // That is how a 596 shows: the proxy gave up while the change still stood in the queue.
    expect(outcome).toBe('OUTCOME_UNKNOWN');
  });

  it('do not keep a healthy sibling from being found', async () => {
    const guests = { sick: { agent_ms: 'silent' as const } };
    const { clock, start, wait, vmids, processOf } = bench({ guest: 'sick', guests, count: 50 });
    const healthy = FIRST + 49;
    await clock.run(async () => {
      for (const vmid of vmids) await start(vmid);
      Object.assign(processOf(healthy), { guest: { ...processOf(healthy).guest, agentMs: 2_000 } });
      const abort = new AbortController();
      const dead = vmids.slice(0, -1).map((vmid) => wait(undefined, { vmid, signal: abort.signal }).catch(() => {}));
      await wait(undefined, { vmid: healthy });
      abort.abort();
      await Promise.all(dead);
    });
    expect(clock.now() - processOf(healthy).startedAt).toBeLessThan(600_000);
  });
});

describe('sequential readiness', () => {
  it('waits for one VM after the other while all of them boot, also past one that fails', async () => {
    const { clock, start, wait, vmids, traffic, processOf } = bench({ count: 3 });
    const schedule = readinessSchedule(
      'sequential',
      vmids.map((vmid) => vmAddress('web', vmid)),
    );
    const waits: { vmid: number; begun: number; ended: number; outcome: string }[] = [];
    await clock.run(async () => {
      await Promise.all(
        vmids.map(async (vmid) => {
          await start(vmid);
          // The first one hangs in the kernel from its start on.
          if (vmid === FIRST) processOf(vmid).qmpStatus = 'paused';
          await schedule.run(vmAddress('web', vmid), async () => {
            const begun = clock.now();
            const outcome = await wait(undefined, { vmid }).then(
              () => 'ready',
              (error: { code: string }) => error.code,
            );
            waits.push({ vmid, begun, ended: clock.now(), outcome });
          });
        }),
      );
    });
    expect(waits.map(({ vmid, outcome }) => [vmid, outcome])).toEqual([
      [401, 'AGENT_SILENT'],
      [402, 'ready'],
      [403, 'ready'],
    ]);
    for (const [index, { begun }] of waits.slice(1).entries()) expect(begun).toBe(waits[index]?.ended);
    // They booted meanwhile: their own waits are only a matter of asking.
    for (const { begun, ended } of waits.slice(1)) expect(ended - begun).toBeLessThan(3_000);
    expect(traffic.mostAgentCalls).toBe(1);
  });
});
