/** Facts of a run for tests of evidence. */
import type { Address } from '../../../base/address.ts';
import type { Diagnostic } from '../../../base/diagnostics.ts';
import type { Change, ChangeKind, Difference, Plan } from '../../../kinds/change.ts';
import type { EvidenceInput, StageName, StageRecord } from '../record.ts';

export const TASK_FAILED: Diagnostic = {
  severity: 'error',
  code: 'TASK_FAILED',
  summary: 'Task failed',
  detail: [
    'qmclone 9000 on pve1 ended with: "clone failed: no space | left".',
    'Last lines of its log:',
    '  transferred 1.4 GiB of 3.5 GiB (40.86%)',
    '  Logical volume "vm-601-disk-0" successfully removed.',
  ].join('\n'),
  where: {
    address: 'vm.web[1]',
    step: 'clone',
    endpoint: 'https://pve1.lab:8006',
    upid: 'UPID:pve1:1:2:3:qmclone:9000:a:',
  },
  facts: {
    serverSaid: 'clone failed: no space | left',
    taskLog: ['transferred 1.4 GiB of 3.5 GiB (40.86%)', 'Logical volume "vm-601-disk-0" successfully removed.'],
  },
  hint: { text: 'Free some space on local-lvm,\nthen apply again.' },
};

export function stage(
  name: StageName,
  result: StageRecord['result'],
  tookMs: number,
  problems: readonly Diagnostic[] = [],
): StageRecord {
  return { stage: name, result, tookMs, words: 'it says so', problems };
}

const FIELDS: readonly Difference[] = [
  { path: 'memory', key: 'memory', before: '4GiB', after: '8GiB', by: 'file', effect: 'live' },
  { path: 'cpu.cores', key: 'cores', before: null, after: 2, by: 'others', effect: 'restart' },
];

export function planned(changes: readonly { readonly address: string; readonly kind: string }[]): Plan {
  return {
    version: 1,
    stack: 'lab',
    createdAt: '2026-02-17T14:03:01.000Z',
    changes: changes.map(({ address, kind }, index): Change => {
      return {
        address: address as Address,
        kind: kind as ChangeKind,
        name: address.replace(/\W+/g, '-'),
        node: 'pve1',
        vmid: 601 + index,
        reason: 'The file changed.',
        differences: kind === 'update' ? FIELDS : [],
        inherited: [],
        unmanaged: [],
        restartPending: [],
        restarts: false,
      };
    }),
    steps: [],
    warnings: [],
    fingerprints: { stack: '', state: '', vms: {} },
  };
}

export function evidenceInput(part: Partial<EvidenceInput> = {}): EvidenceInput {
  return {
    time: '2026-02-17T14:03:01.000Z',
    tookMs: 42_000,
    command: 'apply',
    typed: 'proxwright apply --var-file prod.yaml --verify --yes',
    task: undefined,
    note: undefined,
    stack: 'lab',
    file: 'stack.yaml',
    runId: '20260217T140301Z-abcdef',
    isComplete: true,
    versions: { proxwright: '0.1.0', node: '20.19.0', proxmox: '9.2.3' },
    server: { endpoint: 'https://pve1.lab:8006', principal: 'ops@pve!ci' },
    commit: { id: '0123456789abcdef', isClean: true },
    stages: [
      stage('validate', 'passed', 12),
      stage('doctor', 'passed', 400),
      stage('plan', 'passed', 150),
      stage('apply', 'passed', 41_000),
      stage('last plan', 'passed', 150),
    ],
    plan: planned([
      { address: 'vm.web[1]', kind: 'create' },
      { address: 'vm.db', kind: 'update' },
      { address: 'vm.old', kind: 'keep' },
    ]),
    outcomes: new Map([
      ['vm.web[1]', 'done'],
      ['vm.db', 'done'],
    ]),
    lastPlan: planned([]),
    compared: new Map(),
    incident: undefined,
    ...part,
  };
}
