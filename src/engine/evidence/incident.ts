/**
 * The draft of an incident report about a failed run: filled in from the journal, the problems and the state, with the
 * server's own messages. What only people know is left open. Pure.
 */

import { type Diagnostic, factsOf, formatWhere } from '../../base/diagnostics.ts';
import { shellWord } from '../../base/text/shell.ts';
import { counted } from '../../base/values/units.ts';
import type { AddressRecord } from '../../kinds/recorded.ts';
import type { ResourceOutcome } from '../../state/events.ts';
import type { RunRecord } from '../record/run-record.ts';
import { standings, timeline } from './incident-facts.ts';
import type { Differing } from './record.ts';
import {
  codeBlock,
  codeSpan,
  firstLine,
  inert,
  isFromServer,
  listed,
  printed,
  serverWords,
  tableHead,
  tableRow,
} from './text.ts';

export interface IncidentInput {
  readonly runId: string;
  readonly stack: string;
  /** The command as it was typed. */
  readonly typed: string;
  /** ISO 8601: when the failure was detected. */
  readonly noticedAt: string;
  readonly versions: { readonly proxwright: string; readonly proxmox: string | undefined };
  readonly endpoint: string;
  readonly run: RunRecord;
  /** What the run was meant to change. */
  readonly planned: readonly Differing[];
  readonly outcomes: ReadonlyMap<string, ResourceOutcome>;
  /** By address; a problem of the whole run has an empty address. */
  readonly problems: ReadonlyMap<string, Diagnostic>;
  /** What is recorded now. */
  readonly vms: Readonly<Record<string, AddressRecord>>;
  /** What the last plan would still change, if there was one. */
  readonly remaining: readonly Differing[];
}

const TO_FILL = '_to be filled in_';
const MOST_NAMES = 8;

/** File name in `incidents/` next to the stack file. */
export function incidentName({ noticedAt, runId }: Pick<IncidentInput, 'noticedAt' | 'runId'>): string {
  return `INC-${noticedAt.slice(0, 10)}-${runId}.md`;
}

export function renderIncident(input: IncidentInput): string {
  const sections = [head(input), incident(input), course(input), rootCause(input), resolution(input), LESSONS];
  return `${[...sections, actionItems(input), present(input)].map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function head(input: IncidentInput): string[] {
  const { noticedAt, runId, versions, endpoint, stack } = input;
  const components = [
    `Proxwright ${versions.proxwright}`,
    `Proxmox VE${versions.proxmox === undefined ? '' : ` ${versions.proxmox}`} at ${endpoint}`,
    `stack ${stack}`,
    ...(failedAddresses(input).length > 0 ? [listed(failedAddresses(input), MOST_NAMES)] : []),
  ];
  return [
    `# ${incidentName({ noticedAt, runId }).replace(/\.md$/, '')}: ${title(input)}`,
    '',
    `- **Date:** ${noticedAt.slice(0, 10)}`,
    `- **Severity:** ${severity(input)}`,
    '- **Status:** Open',
    `- **Components:** ${components.join(', ')}`,
  ];
}

function title({ stack, problems, remaining }: IncidentInput): string {
  const [first] = problems.values();
  if (first) return `apply of ${stack} failed (${first.summary})`;
  return `${stack} differs from its file after an apply (${counted(remaining.length, 'difference')})`;
}

/** A first guess from the outcomes. */
function severity({ outcomes, problems }: IncidentInput): string {
  const all = [...outcomes.values()];
  const open = all.filter((outcome) => outcome !== 'done').length;
  if (problems.has('') || (all.length > 0 && open === all.length)) {
    return 'High (nothing was finished; confirm or correct)';
  }
  if (all.some((outcome) => outcome === 'failed')) {
    return `Medium (${open} of ${all.length} not finished; confirm or correct)`;
  }
  return 'Low (everything exists, but differences remain; confirm or correct)';
}

const failedAddresses = ({ problems, remaining }: IncidentInput) => {
  const failed = [...problems.keys()].filter((address) => address !== '');
  return failed.length > 0 ? failed : remaining.map(({ address }) => address);
};

function incident(input: IncidentInput): string[] {
  const { typed, noticedAt, outcomes, problems } = input;
  const all = [...outcomes.values()];
  const done = all.filter((outcome) => outcome === 'done').length;
  const count = all.length === 0 ? '' : ` ${done} of ${all.length} done.`;
  const [first] = problems.values();
  const signal = first ? `it ended with ${codeSpan(first.code)}` : 'the last plan was not empty';
  return [
    '## 1. The incident',
    '',
    `- **Summary:** ${codeSpan(typed)} failed.${count}`,
    `- **Impact:** ${TO_FILL}. Not finished: ${listed(failedAddresses(input), MOST_NAMES) || 'no VM in particular'}.`,
    `- **Detection:** by the run itself at ${noticedAt}: ${signal}.`,
  ];
}

function course({ run, noticedAt, runId }: IncidentInput): string[] {
  const rows = timeline(run, noticedAt);
  return [
    '## 2. Timeline',
    '',
    `From the journal of run ${runId}, started at ${run.startedAt ?? noticedAt}. Full journal: ${codeSpan(`proxwright runs show ${shellWord(runId)}`)}.`,
    '',
    ...tableHead(['at', 'address', 'what']),
    ...rows.map(({ at, address, what }) => tableRow([at, address, inert(what)])),
  ];
}

function rootCause(input: IncidentInput): string[] {
  const whys = [...knownWhys(input), ...Array<Why>(5).fill({ question: 'Why?', answer: TO_FILL })].slice(0, 5);
  return [
    '## 3. Root cause',
    '',
    '- **Five whys:**',
    ...whys.map(({ question, answer }, index) => `  ${index + 1}. **${question}** ${answer}`),
    '',
    `**Technical cause**${[...input.problems.values()].some(isFromServer) ? ', as reported by the server' : ''}:`,
    '',
    ...technicalCause(input),
  ];
}

interface Why {
  readonly question: string;
  readonly answer: string;
}

/** The known causes. The last one is never the root cause; people fill in the rest. */
function knownWhys({ problems, remaining }: IncidentInput): Why[] {
  const [entry] = problems;
  if (!entry) {
    const [first] = remaining;
    const fields = first?.fields.map(({ path }) => path) ?? [];
    return [
      {
        question: 'Why did the run fail?',
        answer: `Because the last plan would still change ${listed(
          remaining.map(({ address }) => address),
          MOST_NAMES,
        )}.`,
      },
      {
        question: 'Why was the plan not empty?',
        answer:
          `Because ${first?.address ?? 'a VM'} differs from the file${fields.length > 0 ? ` in ${listed(fields, MOST_NAMES)}` : ''}. ${inert(first?.reason ?? '')}`.trim(),
      },
    ];
  }
  const [address, problem] = entry;
  const { where, code, summary } = problem;
  const step = where?.step === undefined ? '' : `step ${where.step} of `;
  const others = problems.size > 1 ? `; ${problems.size - 1} more below` : '';
  const log = factsOf(problem).taskLog?.at(-1)?.trim();
  return [
    {
      question: 'Why did the run fail?',
      answer: `Because ${step}${address || 'the run'} failed: ${summary} (${codeSpan(code)})${others}.`,
    },
    {
      question: 'Why did that fail?',
      answer: isFromServer(problem)
        ? `Because the server answered ${codeSpan(serverWords(problem))}.`
        : `${codeSpan(firstLine(problem.detail))}`,
    },
    ...(log === undefined
      ? []
      : [
          {
            question: 'Why did the server answer that?',
            answer: `${TO_FILL}; the log of its task ends with ${codeSpan(log)}.`,
          },
        ]),
  ];
}

function technicalCause({ problems, remaining }: IncidentInput): string[] {
  const causes = [...problems].flatMap(([address, problem]) => [
    `${address === '' ? 'The run' : address}, ${codeSpan(problem.code)}${problem.where ? `, at ${codeSpan(formatWhere(problem.where))}` : ''}:`,
    '',
    ...codeBlock(problem.detail),
    ...(problem.cause ? codeBlock(`caused by: ${problem.cause.detail}`) : []),
    '',
  ]);
  const fields = remaining.flatMap(({ address, kind, fields: differing }) =>
    differing.length === 0
      ? codeBlock(`${address}: ${kind}`)
      : codeBlock(
          differing
            .map(({ path, before, after }) => `${address}: ${path} is ${printed(before)}, should be ${printed(after)}`)
            .join('\n'),
        ),
  );
  const open = fields.length === 0 ? [] : ['What the last plan would still change:', '', ...fields];
  return [...causes, ...open].join('\n').trimEnd().split('\n');
}

function resolution({ problems }: IncidentInput): string[] {
  const hints = [...new Set([...problems.values()].flatMap(({ hint }) => (hint === undefined ? [] : [hint.text])))];
  return [
    '## 4. Resolution',
    '',
    `${TO_FILL}. Next steps:`,
    '',
    ...hints.flatMap((hint) => [`- ${inert(hint.split('\n').join(' '))}`]),
    `- See what an apply would change now: ${codeSpan('proxwright plan')}`,
    `- Resume; nothing is created twice: ${codeSpan('proxwright apply --verify')}`,
  ];
}

const LESSONS = [
  '## 5. Lessons and prevention',
  '',
  `- **What did we learn?** ${TO_FILL}`,
  `- **How do we prevent it?** ${TO_FILL}`,
];

function actionItems(input: IncidentInput): string[] {
  const open = failedAddresses(input);
  return [
    '## 6. Action items',
    '',
    '- [ ] Fill in impact, whys, resolution and lessons above.',
    `- [ ] Finish ${open.length > 0 ? listed(open, MOST_NAMES) : 'the run'}: ${codeSpan('proxwright apply --verify')}.`,
    '- [ ] Set the status to Resolved once the last plan is empty.',
  ];
}

function present(input: IncidentInput): string[] {
  const rows = standings(input);
  return [
    '## 7. Current state of the cluster',
    '',
    `As recorded by the run at ${input.noticedAt}. Nothing was rolled back.`,
    '',
    ...tableHead(['address', 'name', 'id', 'node', 'state']),
    ...rows.map(({ address, name, vmid, node, words }) => tableRow([address, inert(name), vmid, node, inert(words)])),
  ];
}
