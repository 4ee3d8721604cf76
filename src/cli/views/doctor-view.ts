/** What the doctor found, on one screen: a mark, what was looked at, one sentence, and the remedy below it. */
import { counted } from '../../base/count.ts';
import type { CheckName, Finding, Verdict } from '../../engine/doctor/finding.ts';
import { TO_TYPE } from '../../engine/privileges/report.ts';
import type { Paint, Style } from './paint.ts';

const MARKS: Readonly<Record<Verdict, readonly [mark: string, style: Style]>> = {
  good: ['✓', 'green'],
  warning: ['!', 'yellow'],
  unknown: ['!', 'dim'],
  bad: ['✗', 'red'],
};

const TITLES: Readonly<Record<CheckName, string>> = {
  endpoint: 'endpoint',
  certificate: 'certificate',
  version: 'version',
  token: 'token',
  clock: 'clock',
  latency: 'latency',
  privileges: 'privileges',
  plan: 'plan',
  quorum: 'quorum',
  storage: 'storage',
  capacity: 'capacity',
  neighbours: 'other VMs',
  template: 'template',
  images: 'images',
  devices: 'devices',
  upgrade: 'upgrade',
};

const TITLE_WIDTH = 13;
const MARGIN = ' '.repeat(TITLE_WIDTH + 2);

export function renderFindings(findings: readonly Finding[], paint: Paint): string[] {
  return [...findings.flatMap((finding) => renderFinding(finding, paint)), '', renderVerdict(findings, paint)];
}

function renderFinding({ check, verdict, words, details = [], remedy, where }: Finding, paint: Paint): string[] {
  const [mark, style] = MARKS[verdict];
  const place = where?.file === undefined ? '' : ` (${where.file}${where.line === undefined ? '' : `:${where.line}`})`;
  const text = verdict === 'unknown' ? paint('dim', words) : words;
  return [
    `${paint(style, mark)} ${TITLES[check].padEnd(TITLE_WIDTH)}${text}${paint('dim', place)}`,
    ...details.map((line) => paint('dim', `${MARGIN}${line}`)),
    ...renderRemedy(remedy, paint),
  ];
}

/** Commands for an administrator get a title, so that no arrow is in the way of whoever copies them. */
function renderRemedy(remedy: string | undefined, paint: Paint): string[] {
  const lines = (remedy ?? '').split('\n').filter((line) => line !== '');
  const isScript = lines.length > 0 && lines.every((line) => line.startsWith('pveum '));
  return [...(isScript ? [TO_TYPE] : []), ...lines].map(
    (line, index) => `${MARGIN}${paint('cyan', index === 0 ? '→ ' : '  ')}${line}`,
  );
}

function renderVerdict(findings: readonly Finding[], paint: Paint): string {
  const count = (...verdicts: Verdict[]) => findings.filter(({ verdict }) => verdicts.includes(verdict)).length;
  const [bad, warnings, unknown] = [count('bad'), count('warning'), count('unknown')];
  const rest = [
    ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
    ...(unknown > 0 ? [`${unknown} not checked`] : []),
  ].join(', ');
  if (bad === 0) return paint('green', `Nothing stands in the way${rest === '' ? '' : `; ${rest}`}.`);
  return paint('red', `${counted(bad, 'problem')}${rest === '' ? '' : `, ${rest}`}.`);
}
