/** Random but valid histories of a run, for the property tests of fold, journal and state file. */
import fc from 'fast-check';
import type { VmPatch } from '../../kinds/recorded.ts';
import type { VmRecord } from '../../kinds/vm/record.ts';
import { JOURNAL_FORMAT, openSteps, type RunEvent } from '../events.ts';

export const ADDRESSES = ['vm.web', 'vm.worker[1]', 'vm.worker[2]', 'vm.gpu["0000:01:00"]'] as const;

const json = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.string(), { maxLength: 2 }),
);

const facts = {
  vmid: fc.integer({ min: 100, max: 999_999_999 }),
  uuid: fc.uuid(),
  node: fc.constantFrom('pve1', 'pve2'),
  name: fc.constantFrom('web', 'worker-1', 'worker-2'),
  phase: fc.constantFrom<VmRecord['phase']>('creating', 'incomplete', 'complete'),
  nonce: fc.string({ minLength: 1 }),
  lastApplied: fc.dictionary(fc.constantFrom('memory', 'cpu.cores', 'nics.net0.vlan'), json),
  secrets: fc.dictionary(fc.constant('cloud_init.password'), fc.record({ salt: fc.string(), sha256: fc.string() })),
  macs: fc.dictionary(fc.constantFrom('net0', 'net1'), fc.constantFrom('BC:24:11:00:00:01', 'BC:24:11:00:00:02')),
  addresses: fc.dictionary(fc.constantFrom('net0', 'net1'), fc.array(fc.ipV4(), { maxLength: 2 })),
  createdAt: fc.constant('2026-01-01T00:00:00.000Z'),
};

/** A VM in the state, with all fields or only the required ones. */
export const vmState: fc.Arbitrary<VmRecord> = fc
  .record(facts, {
    requiredKeys: ['vmid', 'node', 'name', 'phase', 'lastApplied', 'secrets', 'macs', 'addresses'],
    noNullPrototype: true,
  })
  .map(plain);

function patchOf(address: string): fc.Arbitrary<VmPatch> {
  const vm = fc.record(facts, { requiredKeys: [], noNullPrototype: true }).map(plain);
  return fc.record({ address: fc.constant(address), vm: fc.option(vm, { freq: 6, nil: null }) });
}

const at = '2026-01-01T00:00:00.000Z';

export const RUN_STARTED: RunEvent = {
  event: 'runStarted',
  at,
  format: JOURNAL_FORMAT,
  runId: '20260101-a',
  command: 'apply',
  who: 'operator',
};

/** The address a VM had before its group was renamed: no other VM of the run is recorded there. */
export const formerAddress = (address: string) => `${address}-former`;

/** The history of one VM: perhaps a new address, then its steps one after the other, with changes of its state. */
export function eventsOf(address: string): fc.Arbitrary<RunEvent[]> {
  const steps = fc.array(
    fc.record({
      intents: fc.array(
        fc.record({ intent: json, patch: fc.option(patchOf(address), { nil: undefined }) }, { noNullPrototype: true }),
        { maxLength: 2 },
      ),
      learned: fc.array(patchOf(address), { maxLength: 2 }),
      end: fc.constantFrom('done', 'failed', 'lost', 'open'),
    }),
    { maxLength: 4 },
  );
  return fc.record({ isMoved: fc.boolean(), steps }).map(({ isMoved, steps: histories }) => [
    ...(isMoved ? moveOf(address) : []),
    ...histories.flatMap(({ intents, learned, end }, index): RunEvent[] => {
      const step = `${address}/${index}`;
      return [
        { event: 'stepStarted', at, step, address, action: 'vm.clone' },
        ...intents.flatMap(({ intent, patch }): RunEvent[] => [
          { event: 'intended', at, step, intent, ...(patch && { patch }) },
          { event: 'taskAttached', at, step, upid: UPID },
        ]),
        ...learned.map((patch): RunEvent => ({ event: 'learned', at, step, patch })),
        ...endOf(step, end),
      ];
    }),
  ]);
}

const UPID = 'UPID:pve1:000004D2:000000FF:69559A00:qmclone:9000:root@pam!ci:';

function moveOf(address: string): RunEvent[] {
  const step = `${address}/take-from`;
  return [
    { event: 'stepStarted', at, step, address, action: 'vm.take-from' },
    { event: 'moved', at, step, from: formerAddress(address), to: address },
    { event: 'stepDone', at, step },
  ];
}

function endOf(step: string, end: 'done' | 'failed' | 'lost' | 'open'): RunEvent[] {
  if (end === 'open') return [];
  if (end === 'done') return [{ event: 'stepDone', at, step }];
  const lost = end === 'lost' && { lost: true as const };
  return [{ event: 'stepFailed', at, step, code: 'TASK_FAILED', detail: 'no', ...lost }];
}

/** One history per VM, and numbers that decide how they interleave. */
export const siblings = fc.record({
  histories: fc.tuple(...ADDRESSES.map(eventsOf)),
  deal: fc.infiniteStream(fc.nat()),
});

/** One run made of several histories: each keeps its order, and they interleave at random. */
export function interleaved(histories: readonly (readonly RunEvent[])[], deal: Iterator<number>): RunEvent[] {
  const queues = histories.map((history) => [...history]).filter((queue) => queue.length > 0);
  const run: RunEvent[] = [];
  while (queues.length > 0) {
    const index = Number(deal.next().value) % queues.length;
    const next = queues[index]?.shift();
    if (next) run.push(next);
    if (queues[index]?.length === 0) queues.splice(index, 1);
  }
  return run;
}

/** Dictionaries of fast-check may lack a prototype, which matters to test comparisons but not to the code. */
function plain<T>(value: T): T {
  return structuredClone(value);
}

/** A run from its start to its successful end: every step that a history leaves open or lost is ended before. */
export const endedRun: fc.Arbitrary<RunEvent[]> = siblings.map(({ histories, deal }) => {
  const events = interleaved(histories, deal).map((event): RunEvent => {
    if (event.event !== 'stepFailed') return event;
    const { lost: _, ...failed } = event;
    return failed;
  });
  return [
    RUN_STARTED,
    { event: 'planned', at, steps: [] },
    ...events,
    ...openSteps(events).map(({ step }): RunEvent => ({ event: 'stepDone', at, step })),
    ...ADDRESSES.map((address): RunEvent => ({ event: 'resourceEnded', at, address, outcome: 'done' })),
    { event: 'runEnded', at, outcome: 'done' },
  ];
});
