/** Evidence as a Markdown table: the row of a run, and the text that appends it to a file. Pure. */
import { printDuration } from '../../base/values/units.ts';
import type { Differing, EvidenceRecord, StageRecord } from './record.ts';
import { codeSpan, firstLine, inert, listed, printed, serverWords, tableHead, tableRow } from './text.ts';

export const EVIDENCE_COLUMNS = ['Date', 'Task', 'Change summary', 'Validation command', 'Result', 'Notes'] as const;

const MOST_VMS = 6;
const MOST_FIELDS = 3;

export function evidenceRow(record: EvidenceRecord): string {
  return tableRow([
    record.time.slice(0, 10),
    record.task,
    changeSummary(record),
    codeSpan(record.typed),
    record.result,
    notes(record),
  ]);
}

/** The planned changes; their outcome is in the notes. */
const VERBS = [
  ['Create', ['create', 'complete']],
  ['Change', ['update']],
  ['Replace', ['replace']],
  ['Delete', ['delete', 'forget']],
] as const;

function changeSummary({ command, differed, compared }: EvidenceRecord): string {
  if (!differed) return 'Nothing was changed';
  if (differed.length === 0) {
    const number = compared?.length ?? 0;
    return number === 0 ? 'No changes' : `No changes: ${number} of ${number} match the file`;
  }
  const parts = VERBS.flatMap(([verb, kinds]) => {
    const some = differed.filter(({ kind }) => kinds.some((each) => each === kind));
    return some.length === 0 ? [] : [`${verb} ${listed(some.map(differing), MOST_VMS)}`];
  });
  return command === 'verify' ? `None. Pending: ${parts.join('; ')}` : parts.join('; ');
}

/** Lists the fields of an update; in a new VM every field is new. */
function differing({ address, kind, fields }: Differing): string {
  if (kind !== 'update' || fields.length === 0) return address;
  const some = fields.map(({ path, before, after }) => `${path} ${inert(printed(before))} → ${inert(printed(after))}`);
  return `${address} (${listed(some, MOST_FIELDS)})`;
}

function notes(record: EvidenceRecord): string {
  const { note, stages, versions, runId, commit, incident, timeline } = record;
  const facts = [
    ...(note === null ? [] : [note.replace(/[.;\s]+$/, '')]),
    ...verdict(record),
    stages.flatMap(({ stage, tookMs }) => (tookMs === null ? [] : [`${stage} ${printDuration(tookMs)}`])).join(', '),
    ...(versions.proxmox === null ? [] : [`Proxmox VE ${versions.proxmox}`]),
    ...(runId === null ? [] : [`run ${runId}`]),
    ...(commit ? [`commit ${commit.id.slice(0, 12)}${commit.isClean ? '' : ' with changes'}`] : []),
    ...(incident === null ? [] : [`see ${incident}`]),
    ...(timeline === null ? [] : [`![timeline of the run](${timeline})`]),
  ];
  return facts.filter((fact) => fact !== '').join('; ');
}

function verdict({ result, stages, remaining, outcomes, command, restartPending }: EvidenceRecord): string[] {
  const name = command === 'apply' ? 'last plan' : 'plan';
  const pending = restartPending.length === 0 ? [] : [`restart pending: ${listed(restartPending, MOST_VMS)}`];
  if (result === 'Complete') return [`${name} empty`, ...pending];
  const isOpen = remaining !== null && remaining.length > 0;
  const failed = stages.filter((stage) => stage.result === 'failed' && !(isOpen && stage.stage === name)).map(failure);
  const counts = Object.values(outcomes ?? {});
  const done = counts.filter((outcome) => outcome === 'done').length;
  return [
    ...failed,
    ...(counts.length > done ? [`${done} of ${counts.length} done`] : []),
    ...(isOpen
      ? [
          `${name} not empty: ${listed(
            remaining.map(({ address }) => address),
            MOST_VMS,
          )}`,
        ]
      : []),
  ];
}

function failure({ stage, words, problems }: StageRecord): string {
  const [first] = problems;
  if (!first) return `${stage} failed: ${inert(firstLine(words))}`;
  const place = first.where?.address === undefined ? '' : ` at ${first.where.address}`;
  const more = problems.length > 1 ? ` and ${problems.length - 1} more` : '';
  return `${stage} failed: ${first.code}${place} (${inert(serverWords(first))})${more}`;
}

/**
 * The text to append to `present`. If the file does not end with an evidence table, for example because a person added text
 * below it, the row starts a new table.
 */
export function appendedRow(present: string, row: string): string {
  const text = present.trimEnd();
  const lineEnds = present.slice(text.length).split('\n').length - 1;
  // A blank line below a table ends it.
  if (lineEnds < 2 && endsWithTable(text)) return `${lineEnds === 0 ? '\n' : ''}${row}\n`;
  const gap = text === '' ? '' : '\n'.repeat(Math.max(0, 2 - lineEnds));
  return `${gap}${[...tableHead(EVIDENCE_COLUMNS), row].join('\n')}\n`;
}

function endsWithTable(text: string): boolean {
  const lines = text.split('\n').map((line) => line.trim());
  const [head = '', rule = ''] = lines.slice(lines.findLastIndex((line) => !line.startsWith('|')) + 1);
  return isHead(head) && /^\|[\s:|-]+\|$/.test(rule);
}

function isHead(line: string): boolean {
  const names = line
    .split('|')
    .slice(1, -1)
    .map((name) => name.trim().toLowerCase());
  return names.join('|') === EVIDENCE_COLUMNS.join('|').toLowerCase();
}
