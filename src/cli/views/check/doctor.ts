/** What the doctor found, on one screen: a mark, the subject, one sentence, and the remedy below it. */
import { counted } from '../../../base/values/units.ts';
import { RUN_AS_ROOT } from '../../../engine/privileges/report.ts';
import type { CheckName, Finding, Verdict } from '../../../kinds/doctor/finding.ts';
import { type Paint, type Style, wrapVisible } from '../text/paint.ts';
import { chooseView, type ViewDeps } from '../view.ts';

export interface DoctorView {
  findings(stack: string, isHealthy: boolean, findings: readonly Finding[]): void;
}

export function doctorView(deps: ViewDeps): DoctorView {
  return chooseView<DoctorView>(deps, {
    human: ({ print, paint }) => ({ findings: (_stack, _ok, findings) => print(renderFindings(findings, paint)) }),
    json: ({ print }) => ({ findings: (stack, ok, findings) => print({ stack, ok, findings }) }),
  });
}

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
  const inner = paint.width === undefined ? undefined : paint.width - MARGIN.length;
  const [first = '', ...rest] = wrapVisible(`${words}${place}`, inner);
  const painted = (line: string) => (verdict === 'unknown' ? paint('dim', line) : line);
  return [
    `${paint(style, mark)} ${TITLES[check].padEnd(TITLE_WIDTH)}${painted(first)}`,
    ...rest.map((line) => `${MARGIN}${painted(line)}`),
    ...details.flatMap((line) => wrapVisible(line, inner)).map((line) => paint('dim', `${MARGIN}${line}`)),
    ...renderRemedy(remedy, paint, inner),
  ];
}

/** Commands for an administrator get a title, so that they can be copied without the arrow; they stay on one line. */
function renderRemedy(remedy: string | undefined, paint: Paint, width: number | undefined): string[] {
  const lines = (remedy ?? '').split('\n').filter((line) => line !== '');
  const isCommand = (line: string) => line.startsWith('pveum ');
  const isScript = lines.length > 0 && lines.every(isCommand);
  const inner = width === undefined ? undefined : width - 2;
  return [...(isScript ? [RUN_AS_ROOT] : []), ...lines]
    .flatMap((line) => (isCommand(line) ? [line] : wrapVisible(line, inner)))
    .map((line, index) => `${MARGIN}${paint('cyan', index === 0 ? '→ ' : '  ')}${line}`);
}

function renderVerdict(findings: readonly Finding[], paint: Paint): string {
  const bad = findings.filter(({ verdict }) => verdict === 'bad').length;
  if (bad === 0) return paint('green', `${readyWords(findings)}.`);
  const rest = reservations(findings);
  return paint('red', `${[counted(bad, 'problem'), ...rest].join(', ')}.`);
}

/** `Ready to apply; 1 warning`: the verdict where no finding is bad, without a full stop. */
export function readyWords(findings: readonly Finding[]): string {
  const rest = reservations(findings);
  return rest.length === 0 ? 'Ready to apply' : `Ready to apply; ${rest.join(', ')}`;
}

function reservations(findings: readonly Finding[]): string[] {
  const count = (verdict: Verdict) => findings.filter((finding) => finding.verdict === verdict).length;
  const [warnings, unknown] = [count('warning'), count('unknown')];
  return [...(warnings > 0 ? [counted(warnings, 'warning')] : []), ...(unknown > 0 ? [`${unknown} not checked`] : [])];
}
