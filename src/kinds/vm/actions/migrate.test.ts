import { describe, expect, it } from 'vitest';
import { vmAddress } from '../../../base/address.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { VirtualClock } from '../../../base/virtual-clock.ts';
import { printUpid, toNodeName } from '../../../pve/wire/index.ts';
import type { VmContext } from './context.ts';
import { migrateVm } from './migrate.ts';

const UUID = '5e0c4a77-7886-477f-ad9d-000000000101';
const CLONE_MS = 600_000;

/** A VM that the HA manager moves some time after the request; the task only files the request. */
function highlyAvailable({ movesAfterMs }: { readonly movesAfterMs: number }) {
  const clock = new VirtualClock();
  let movesAt = Number.POSITIVE_INFINITY;
  let sent = 0;
  let node = 'pve1';
  const upid = printUpid({
    node: toNodeName('pve1'),
    pid: 1,
    processStartTicks: 1,
    startTimeSeconds: 1_794_768_815,
    type: 'hamigrate',
    id: '101',
    user: 'root@pam!ci',
  });
  const here = () => (clock.now() >= movesAt ? 'pve2' : 'pve1');
  const vmOn = (name: string) => ({
    pending: async () => {
      if (name !== here()) throw new ProxwrightError({ code: 'NOT_FOUND', subject: 'guest', detail: 'not here' });
      return [
        { key: 'smbios1', value: `uuid=${UUID}` },
        { key: 'digest', value: 'd' },
      ];
    },
    status: { current: async () => ({ status: 'running' }) },
    migrate: async () => {
      sent++;
      movesAt = clock.now() + movesAfterMs;
      return upid;
    },
  });
  const context = {
    pve: {
      node: (name: string) => ({ vm: () => vmOn(name) }),
      reach: { patience: () => ({ again: async () => false }) },
      inOneSlot: (work: (options: object) => Promise<unknown>) => work({}),
      cluster: { resources: async () => [{ vmid: 101, node: here() }] },
      tasks: { wait: async () => ({ upid, outcome: 'ok', warnings: 0, log: [], waitedMs: 0 }) },
    },
    clock,
    address: vmAddress('web'),
    log: { log: () => {} },
    observed: { last: undefined },
    timeouts: { cloneMs: CLONE_MS, lockMs: 1_000 },
    recorded: () => ({ vmid: 101, uuid: UUID, node }),
    learn: async (patch: { node?: string }) => {
      node = patch.node ?? node;
    },
    intend: async () => {},
    attach: async () => {},
    progress: () => {},
    whileBusy: (_: string, work: () => Promise<unknown>) => work(),
  } as unknown as VmContext; // what a migration uses of it
  const run = () => clock.run(() => migrateVm(context, { target: 'pve2' }));
  return { clock, run, sent: () => sent, node: () => node };
}

describe('a VM under high availability', () => {
  it('sends one request and waits until the VM is on its new node', async () => {
    const { run, sent, node } = highlyAvailable({ movesAfterMs: 90_000 });
    await run();
    expect(sent()).toBe(1);
    expect(node()).toBe('pve2');
  });

  it('fails with a timeout if the VM does not move within the clone timeout', async () => {
    const { clock, run, sent } = highlyAvailable({ movesAfterMs: Number.POSITIVE_INFINITY });
    const startedAt = clock.now();
    await expect(run()).rejects.toMatchObject({
      code: 'TASK_TIMEOUT',
      diagnostic: { detail: 'VM 101 on pve1 is managed by HA and was not on pve2 after 10m 0s.' },
    });
    expect(clock.now() - startedAt).toBeLessThan(CLONE_MS + 5_000);
    expect(sent()).toBe(1);
  });
});
