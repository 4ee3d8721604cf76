/** `proxwright report`: one run as a page and a picture, from its journal. Contacts no server. */
import { mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { readRun } from '../../../state/journal.ts';
import { chartOf } from '../../../ui/picture/chart.ts';
import { drawTimeline } from '../../../ui/picture/timeline.ts';
import { renderReport } from '../../../ui/report/html.ts';
import type { CommandDeps, ExitCode, StackOptions } from '../../command.ts';
import { openStack } from '../../stack/open.ts';
import { findRun, predictionOf, recordOf } from '../../stack/recorded-run.ts';
import { reportView } from '../../views/show/report.ts';
import { unwritable, writePrivateFile } from '../../write-file.ts';

export interface ReportOptions extends StackOptions {
  readonly out?: string;
}

const FOLDER = 'reports';
const PRIVATE_DIRECTORY = 0o700;

export async function runReport(id: string | undefined, options: ReportOptions, deps: CommandDeps): Promise<ExitCode> {
  const { stack, store, file, stateDirectory } = await openStack(options, deps);
  const run = await recordOf(store, await readRun(store, await findRun(store, id ?? 'last')));
  const shown = options.out ?? join(dirname(file), FOLDER, `${run.runId}.html`);
  const picture = `${shown.replace(/\.html?$/, '')}.svg`;
  const now = deps.clock.now();
  const chart = chartOf(run, now);
  const prediction = await predictionOf(run, stateDirectory);
  // Journals hold no secrets that the run knew; this command may know others.
  const write = (name: string, text: string) =>
    writePrivateFile(resolve(deps.directory, name), deps.secrets.redact(text), name);
  if (options.out === undefined) await makeFolder(resolve(deps.directory, dirname(shown)), dirname(shown));
  await write(shown, renderReport({ stack: stack.name, run, prediction, now }));
  const title = `${run.command} of ${stack.name}, run ${run.runId}`;
  await write(picture, drawTimeline(chart, { title, prediction: prediction && chartOf(prediction) }));
  reportView(deps).written({ run, chart, files: { html: shown, svg: picture } });
  return 0;
}

async function makeFolder(path: string, shown: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: PRIVATE_DIRECTORY });
  } catch (error) {
    throw unwritable(shown, error);
  }
}
