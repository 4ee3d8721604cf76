/** The durations of a run in the Prometheus text format, for the textfile collector of the node exporter. Pure. */
import type { RunRecord } from '../../../engine/record/run-record.ts';

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

export function runMetrics(stack: string, run: RunRecord): string {
  const labels = { stack, command: run.command };
  const worked = run.resources.filter(({ steps }) => steps.length > 0);
  const failed = worked.filter((resource) => resource.failed).length;
  const seconds = (ms: number) => ms / 1000;
  return [
    metric('proxwright_run_info', 'The run these figures are about.', [
      [{ ...labels, run: run.runId, outcome: run.outcome }, 1],
    ]),
    metric('proxwright_run_success', '1 if the run succeeded.', [[labels, run.outcome === 'done' ? 1 : 0]]),
    metric(
      'proxwright_run_start_timestamp_seconds',
      'When the run began.',
      run.startedAt === undefined ? [] : [[labels, seconds(Date.parse(run.startedAt))]],
    ),
    metric(
      'proxwright_run_duration_seconds',
      'How long the run took.',
      run.durationMs === undefined ? [] : [[labels, seconds(run.durationMs)]],
    ),
    metric('proxwright_run_vms', 'VMs the run worked on, by outcome.', [
      [{ ...labels, outcome: 'done' }, worked.length - failed],
      [{ ...labels, outcome: 'failed' }, failed],
    ]),
    metric(
      'proxwright_step_duration_seconds',
      'How long each step took.',
      run.steps.flatMap(({ address, step, action, outcome, durationMs }): Sample[] =>
        durationMs === undefined
          ? []
          : [[{ ...labels, address, step, action: action.replace(/^vm\./, ''), outcome }, seconds(durationMs)]],
      ),
    ),
  ].join('');
}

function metric(name: string, help: string, samples: readonly Sample[]): string {
  if (samples.length === 0) return '';
  const lines = samples.map(([labels, value]) => `${name}{${printLabels(labels)}} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join('')}`;
}

function printLabels(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',');
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
