import { describe, expect, it } from 'vitest';
import type { VmRecord } from '../../kinds/vm/record.ts';
import { JOURNAL_FORMAT, type RunEvent } from '../../state/events.ts';
import { describeRun } from '../record/run-record.ts';
import { type IncidentInput, incidentName, renderIncident } from './incident.ts';
import { timeline } from './incident-facts.ts';
import { differingOf } from './record.ts';
import { planned, TASK_FAILED } from './testing/facts.ts';

const at = (second: number) => new Date(Date.UTC(2026, 1, 17, 14, 3, second)).toISOString();

const EVENTS: readonly RunEvent[] = [
  { event: 'runStarted', at: at(0), format: JOURNAL_FORMAT, runId: 'r', command: 'apply', who: 'ops' },
  { event: 'planned', at: at(0), steps: [] },
  { event: 'stepStarted', at: at(1), step: 'vm.web[1]/clone', address: 'vm.web[1]', action: 'vm.clone' },
  { event: 'intended', at: at(1), step: 'vm.web[1]/clone', intent: {} },
  { event: 'taskAttached', at: at(2), step: 'vm.web[1]/clone', upid: 'UPID:pve1:1' },
  { event: 'stepStarted', at: at(2), step: 'vm.db/configure', address: 'vm.db', action: 'vm.configure' },
  { event: 'note', at: at(3), level: 'warn', address: 'vm.db', text: 'configure vm.db: busy, trying again in 2.0 s' },
  { event: 'stepDone', at: at(6), step: 'vm.db/configure' },
  { event: 'stepFailed', at: at(14), step: 'vm.web[1]/clone', code: 'TASK_FAILED', detail: TASK_FAILED.detail },
  { event: 'runEnded', at: at(15), outcome: 'failed' },
];

const vm = (part: Partial<VmRecord>): VmRecord => ({
  vmid: 602,
  node: 'pve1',
  name: 'db',
  phase: 'complete',
  lastApplied: {},
  secrets: {},
  macs: {},
  addresses: {},
  ...part,
});

function incident(part: Partial<IncidentInput> = {}): IncidentInput {
  return {
    runId: '20260217T140300Z-abcdef',
    stack: 'lab',
    typed: 'proxwright apply --yes',
    noticedAt: at(15),
    versions: { proxwright: '0.1.0', proxmox: '9.2.3' },
    endpoint: 'https://pve1.lab:8006',
    run: describeRun({ runId: '20260217T140300Z-abcdef', events: EVENTS }),
    planned: differingOf(
      planned([
        { address: 'vm.web[1]', kind: 'create' },
        { address: 'vm.db', kind: 'update' },
      ]),
    ),
    outcomes: new Map([
      ['vm.web[1]', 'failed'],
      ['vm.db', 'done'],
    ]),
    problems: new Map([['vm.web[1]', TASK_FAILED]]),
    vms: {
      'vm.db': vm({}),
      'vm.web[1]': vm({ vmid: 601, name: 'web-1', phase: 'incomplete' }),
      'vm.mail': vm({ vmid: 7 }),
    },
    remaining: [],
    ...part,
  };
}

describe('the incident draft', () => {
  it('matches this text', () => {
    expect(renderIncident(incident())).toBe(`# INC-2026-02-17-20260217T140300Z-abcdef: apply of lab failed (Task failed)

- **Date:** 2026-02-17
- **Severity:** Medium (1 of 2 not finished; confirm or correct)
- **Status:** Open
- **Components:** Proxwright 0.1.0, Proxmox VE 9.2.3 at https://pve1.lab:8006, stack lab, vm.web[1]

## 1. The incident

- **Summary:** \`proxwright apply --yes\` failed. 1 of 2 done.
- **Impact:** _to be filled in_. Not finished: vm.web[1].
- **Detection:** by the run itself at 2026-02-17T14:03:15.000Z: it ended with \`TASK_FAILED\`.

## 2. Timeline

From the journal of run 20260217T140300Z-abcdef, started at 2026-02-17T14:03:00.000Z. Full journal: \`proxwright runs show 20260217T140300Z-abcdef\`.

| at | address | what |
| --- | --- | --- |
| +0ms |  | apply starts, 0 steps planned |
| +1.0s | vm.web[1] | clone starts |
| +2.0s | vm.web[1] | waits for task UPID:pve1:1 |
| +2.0s | vm.db | configure starts |
| +3.0s | vm.db | configure vm.db: busy, trying again in 2.0 s |
| +6.0s | vm.db | configure done after 4.0s |
| +14s | vm.web[1] | **clone failed after 13s:** TASK_FAILED: qmclone 9000 on pve1 ended with: "clone failed: no space \\| left". |
| +15s |  | the run ends: failed |

## 3. Root cause

- **Five whys:**
  1. **Why did the run fail?** Because step clone of vm.web[1] failed: Task failed (\`TASK_FAILED\`).
  2. **Why did that fail?** Because the server answered \`"clone failed: no space | left"\`.
  3. **Why did the server answer that?** _to be filled in_; the log of its task ends with \`Logical volume "vm-601-disk-0" successfully removed.\`.
  4. **Why?** _to be filled in_
  5. **Why?** _to be filled in_

**Technical cause**, as reported by the server:

vm.web[1], \`TASK_FAILED\`, at \`vm.web[1], step clone — https://pve1.lab:8006 — task UPID:pve1:1:2:3:qmclone:9000:a:\`:

    qmclone 9000 on pve1 ended with: "clone failed: no space | left".
    Last lines of its log:
      transferred 1.4 GiB of 3.5 GiB (40.86%)
      Logical volume "vm-601-disk-0" successfully removed.

## 4. Resolution

_to be filled in_. Next steps:

- Free some space on local-lvm, then apply again.
- See what an apply would change now: \`proxwright plan\`
- Resume; nothing is created twice: \`proxwright apply --verify\`

## 5. Lessons and prevention

- **What did we learn?** _to be filled in_
- **How do we prevent it?** _to be filled in_

## 6. Action items

- [ ] Fill in impact, whys, resolution and lessons above.
- [ ] Finish vm.web[1]: \`proxwright apply --verify\`.
- [ ] Set the status to Resolved once the last plan is empty.

## 7. Current state of the cluster

As recorded by the run at 2026-02-17T14:03:15.000Z. Nothing was rolled back.

| address | name | id | node | state |
| --- | --- | --- | --- | --- |
| vm.web[1] | web-1 | 601 | pve1 | partly created: it exists and belongs to the stack; the next apply completes it |
| vm.db | db | 602 | pve1 | done |
| vm.mail | db | 7 | pve1 | not part of this run |
`);
  });

  it('lists what a last plan that is not empty would change', () => {
    const text = renderIncident(
      incident({
        problems: new Map(),
        outcomes: new Map([['vm.db', 'done']]),
        remaining: differingOf(planned([{ address: 'vm.db', kind: 'update' }])),
      }),
    );
    expect(text).toContain(': lab differs from its file after an apply (1 difference)\n');
    expect(text).toContain('- **Severity:** Low ');
    expect(text).toContain('1. **Why did the run fail?** Because the last plan would still change vm.db.');
    expect(text).toContain(
      '2. **Why was the plan not empty?** Because vm.db differs from the file in memory, cpu.cores. The file changed.',
    );
    expect(text).toContain(
      '    vm.db: memory is 4GiB, should be 8GiB\n    vm.db: cpu.cores is (nothing), should be 2\n',
    );
    expect(text).toContain('| vm.db | db | 602 | pve1 | done; differs from the file |');
  });

  it('describes the failure of a whole run without naming a VM', () => {
    const { where: _, ...problem } = TASK_FAILED;
    const text = renderIncident(incident({ problems: new Map([['', problem]]), outcomes: new Map() }));
    expect(text).toContain('- **Severity:** High ');
    expect(text).toContain('Because the run failed: Task failed (`TASK_FAILED`).');
    expect(text).toContain('| vm.web[1] | web-1 | 601 | pve1 | not started |');
  });

  it.each([
    ['failed', undefined, 'failed; nothing is left of it'],
    ['failed', 'creating', 'failed while it was created; the next apply finds out whether it exists'],
    ['failed', 'complete', 'exists; the change failed, and part of it may be done'],
    ['notReady', 'complete', 'created and started, but not ready in time; kept'],
    ['skipped', undefined, 'not started'],
    ['skipped', 'complete', 'not started; unchanged'],
  ] as const)('of a VM that %s and is recorded as %s says: it is %s', (outcome, phase, words) => {
    const vms: Record<string, VmRecord> = phase === undefined ? {} : { 'vm.db': vm({ phase }) };
    const text = renderIncident(incident({ outcomes: new Map([['vm.db', outcome]]), vms }));
    expect(text).toMatch(new RegExp(`\\| vm\\.db \\| .* \\| ${words} \\|`));
  });

  it('quotes the server also when another problem explains the failure', () => {
    const problem = {
      severity: 'error',
      code: 'DOWNLOAD_FAILED',
      summary: 'Download failed',
      detail: 'pve1 cannot download "disk.raw", so the old file was not removed.',
      where: { address: 'image.disk' },
      cause: TASK_FAILED,
    } as const;
    const text = renderIncident(incident({ problems: new Map([['image.disk', problem]]) }));
    expect(text).toContain('Because the server answered `"clone failed: no space | left"`.');
    expect(text).not.toContain('the server answered `"disk.raw"`');
  });

  it('does not attribute a local problem to the server', () => {
    const problem = {
      severity: 'error',
      code: 'UNREADABLE_FILE',
      summary: 'File cannot be read',
      detail: '"disk.raw" cannot be read: there is no such file.',
      where: { address: 'image.disk', step: 'send' },
    } as const;
    const text = renderIncident(incident({ problems: new Map([['image.disk', problem]]) }));
    expect(text).toContain('`"disk.raw" cannot be read: there is no such file.`');
    expect(text).not.toContain('server');
  });

  it('is named after its day and its run', () => {
    expect(incidentName(incident())).toBe('INC-2026-02-17-20260217T140300Z-abcdef.md');
  });
});

describe('the timeline', () => {
  it('omits the middle of a long run, with the number of lines', () => {
    const notes = Array.from({ length: 500 }, (_, index): RunEvent => {
      return { event: 'note', at: at(index), level: 'info', text: `note ${index}` };
    });
    const moments = timeline(describeRun({ runId: 'r', events: notes }), at(0));
    expect(moments).toHaveLength(201);
    expect(moments[50]).toEqual({ at: '…', address: '', what: '300 lines left out' });
    expect([moments[49]?.what, moments[51]?.what, moments.at(-1)?.what]).toEqual(['note 49', 'note 350', 'note 499']);
  });

  it('says when a VM became ready', () => {
    const step = 'vm.db/ready';
    const events: RunEvent[] = [
      { event: 'stepStarted', at: at(1), step, address: 'vm.db', action: 'vm.ready' },
      { event: 'learned', at: at(5), step, patch: { address: 'vm.db', vm: { addresses: { net0: ['10.0.0.1'] } } } },
      { event: 'stepDone', at: at(5), step },
    ];
    expect(timeline(describeRun({ runId: 'r', events }), at(0))).toEqual([
      { at: '+1.0s', address: 'vm.db', what: 'ready starts' },
      { at: '+5.0s', address: 'vm.db', what: 'ready done after 4.0s' },
    ]);
  });
});
