import { describe, expect, it } from 'vitest';
import { evidenceRecord } from './record.ts';
import { appendedRow, evidenceRow } from './row.ts';
import { evidenceInput, planned, stage, TASK_FAILED } from './testing/facts.ts';

const HEAD =
  '| Date | Task | Change summary | Validation command | Result | Notes |\n| --- | --- | --- | --- | --- | --- |\n';
const rowOf = (part: Parameters<typeof evidenceInput>[0]) => evidenceRow(evidenceRecord(evidenceInput(part)));

describe('the row of a run', () => {
  it('shows the changes, the command, and the duration of each stage', () => {
    expect(rowOf({ task: 'P2-T5', note: 'Phase 2 closed.' })).toBe(
      '| 2026-02-17 | P2-T5 | Create vm.web[1]; Change vm.db (memory 4GiB → 8GiB, cpu.cores (nothing) → 2) ' +
        '| `proxwright apply --var-file prod.yaml --verify --yes` | Complete ' +
        '| Phase 2 closed; last plan empty; validate 12ms, doctor 400ms, plan 150ms, apply 41s, last plan 150ms; ' +
        'Proxmox VE 9.2.3; run 20260217T140301Z-abcdef; commit 0123456789ab |',
    );
  });

  it('shows where a run failed, with the message of the server and the incident draft', () => {
    const failed = {
      isComplete: false,
      stages: [stage('apply', 'failed', 41_000, [TASK_FAILED]), stage('last plan', 'failed', 150)],
      outcomes: new Map([
        ['vm.web[1]', 'failed' as const],
        ['vm.db', 'done' as const],
      ]),
      lastPlan: planned([{ address: 'vm.web[1]', kind: 'create' }]),
      incident: 'incidents/INC-1.md',
    };
    expect(rowOf(failed)).toBe(
      '| 2026-02-17 | Apply lab | Create vm.web[1]; Change vm.db (memory 4GiB → 8GiB, cpu.cores (nothing) → 2) ' +
        '| `proxwright apply --var-file prod.yaml --verify --yes` | Failed ' +
        '| apply failed: TASK_FAILED at vm.web[1] ("clone failed: no space \\| left"); 1 of 2 done; ' +
        'last plan not empty: vm.web[1]; apply 41s, last plan 150ms; Proxmox VE 9.2.3; run 20260217T140301Z-abcdef; ' +
        'commit 0123456789ab; see incidents/INC-1.md |',
    );
  });

  it('counts what a verification without differences compared', () => {
    const same = planned([{ address: 'vm.web[1]', kind: 'none' }]);
    const row = rowOf({
      command: 'verify',
      typed: 'proxwright verify',
      plan: same,
      lastPlan: same,
      stages: [stage('plan', 'passed', 5)],
      runId: undefined,
      commit: undefined,
    });
    expect(row).toBe(
      '| 2026-02-17 | Verify lab | No changes: 1 of 1 match the file | `proxwright verify` | Complete ' +
        '| plan empty; plan 5ms; Proxmox VE 9.2.3 |',
    );
  });

  it('lists the pending changes of a verification', () => {
    const open = planned([{ address: 'vm.db', kind: 'update' }]);
    const row = rowOf({ command: 'verify', isComplete: false, plan: open, lastPlan: open, stages: [] });
    expect(row).toContain('| None. Pending: Change vm.db (memory 4GiB → 8GiB, cpu.cores (nothing) → 2) |');
    expect(row).toContain('| Failed | plan not empty: vm.db; ');
  });

  it('shortens long lists, with the number of omitted items', () => {
    const many = planned(Array.from({ length: 9 }, (_, index) => ({ address: `vm.n[${index}]`, kind: 'create' })));
    expect(rowOf({ plan: many })).toContain(
      '| Create vm.n[0], vm.n[1], vm.n[2], vm.n[3], vm.n[4], vm.n[5] and 3 more |',
    );
  });

  it('has all columns even if the file could not be read', () => {
    const nothing = {
      stack: undefined,
      plan: undefined,
      lastPlan: undefined,
      outcomes: undefined,
      compared: undefined,
    };
    const row = rowOf({ ...nothing, isComplete: false, stages: [stage('validate', 'failed', 3)] });
    expect(row).toContain('| 2026-02-17 | Apply stack.yaml | Nothing was changed |');
    expect(row).toContain('validate failed: it says so');
  });
});

describe('appending a row', () => {
  const row = '| a | b | c | d | e | f |';

  it('writes the header once', () => {
    const first = appendedRow('', row);
    expect(first).toBe(`${HEAD}${row}\n`);
    expect(appendedRow(first, row)).toBe(`${row}\n`);
  });

  it('continues a table with the same columns, in any case', () => {
    const origin = `# Tracker\n\n| Date | Task | Change Summary | Validation Command | Result | Notes |\n|---|---|---|---|---|---|\n${row}\n`;
    expect(appendedRow(origin, row)).toBe(`${row}\n`);
  });

  it('completes a last line without a line break', () => {
    expect(appendedRow(`${HEAD}${row}`, row)).toBe(`\n${row}\n`);
  });

  it.each([
    ['text below it', `${HEAD}${row}\n\n## Decisions\nnone\n`, '\n'],
    ['a blank line below it', `${HEAD}${row}\n\n`, ''],
    ['text without an end', `${HEAD}${row}\n\nDecisions`, '\n\n'],
    ['another table below it', `${HEAD}${row}\n\n| x | y |\n| --- | --- |\n| 1 | 2 |\n`, '\n'],
    ['only a title', '# Evidence\n', '\n'],
  ])('begins a new table after %s', (_what, present, gap) => {
    expect(appendedRow(present, row)).toBe(`${gap}${HEAD}${row}\n`);
  });
});
