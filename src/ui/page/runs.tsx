/** Runs: the list of earlier ones, one of them as a timeline, and the newest one while it grows. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { printDuration } from '../../base/values/units.ts';
import type { Chart } from '../picture/chart.ts';
import { foldedChart } from '../picture/folded.ts';
import { describeChart, drawTimeline } from '../picture/timeline.ts';
import { type LiveNews, type ReceivedRun, withChanges } from '../server/changes.ts';
import type { RunView } from '../server/source.ts';
import { ask, useLive, useView } from './ask.ts';
import { type Problem, Problems, Reading, Scroll, Shown, Tally } from './parts.tsx';

export function Runs({ stack }: { stack: string }) {
  return (
    <Shown asked={useView(stack, 'runs')}>
      {(runs) =>
        runs.length === 0 ? (
          <p class="quiet">There is no run yet. Start the first one with proxwright apply.</p>
        ) : (
          <Scroll label="Runs">
            <table>
              <thead>
                <tr>
                  {['run', 'began', 'command', 'outcome', 'took', 'by', 'report'].map((title) => (
                    <th key={title} scope="col">
                      {title}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {runs.map(({ runId, startedAt, command, outcome, durationMs, who }) => (
                  <tr key={runId}>
                    <th scope="row">
                      <a href={`#/${encodeURIComponent(stack)}/runs/${runId}`}>{runId}</a>
                    </th>
                    <td>{startedAt?.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')}</td>
                    <td>{command}</td>
                    <td>
                      <span class={`badge ${outcome}`}>{outcome}</span>
                    </td>
                    <td>{durationMs === undefined ? '' : printDuration(durationMs)}</td>
                    <td>{who}</td>
                    <td>
                      <a href={`/report/${encodeURIComponent(stack)}/${runId}`} aria-label={`Report of ${runId}`}>
                        report
                      </a>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        )
      }
    </Shown>
  );
}

type Watched = ReceivedRun | null | { readonly problems: readonly Problem[] };

function withNews(before: Watched | undefined, news: LiveNews): Watched {
  if (news === null || 'problems' in news) return news;
  return withChanges(before && 'packed' in before ? before : undefined, news);
}

/** The newest one, live. */
export function LiveRun({ stack }: { stack: string }) {
  const { value: run, isLost } = useLive(`/api/${encodeURIComponent(stack)}/live`, withNews);
  const lost = isLost ? 'The page has lost its server and tries again. Is proxwright ui still running?' : '';
  if (run && 'problems' in run) return <Problems problems={run.problems} />;
  if (run) return <ShownRun run={run} note={lost} />;
  if (run === undefined && !isLost) return <Reading />;
  return (
    <p class="quiet">
      {lost || 'No run has been recorded yet. Start one with proxwright apply: it appears here while it works.'}
    </p>
  );
}

export function Run({ stack, runId }: { stack: string; runId: string }) {
  const [run, setRun] = useState<RunView>();
  const [reason, setReason] = useState<string>();
  useEffect(() => {
    const path = `/api/${encodeURIComponent(stack)}/run/${encodeURIComponent(runId)}`;
    void ask<RunView>(path).then(setRun, (error: unknown) =>
      setReason(error instanceof Error ? error.message : String(error)),
    );
  }, [stack, runId]);
  if (run) return <ShownRun run={run} note="" />;
  if (reason === undefined) return <Reading />;
  return (
    <p>
      The run could not be read: {reason} <a href={`#/${encodeURIComponent(stack)}/runs`}>All runs of this stack</a>
    </p>
  );
}

function ShownRun({ run, note }: { run: RunView; note: string }) {
  const [chosen, setChosen] = useState('');
  const { chart, prediction, log } = run;
  // Each line keeps its key, so that only new ones are drawn.
  const lines = log.map((line, key) => ({ ...line, key })).filter(({ address }) => chosen === '' || address === chosen);
  return (
    <>
      <p class="lead">
        {describeChart(chart, prediction)} {chart.outcome === 'interrupted' && 'To resume it, run proxwright apply.'}{' '}
        {note}
      </p>
      <p class="hidden" role="status">
        {progressOf(chart)}
      </p>
      <Tally label="Resources by outcome" counts={talliesOf(chart)} />
      <Failures rows={chart.rows} />
      <Picture chart={chart} prediction={prediction} />
      <div class="bar">
        <h2>Log</h2>
        <label>
          of{' '}
          <select value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
            <option value="">everything</option>
            {chart.rows.map(({ address }) => (
              <option key={address} value={address}>
                {address}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Scroll label="Log lines" kind="log">
        <table>
          <tbody>
            {lines
              .slice(-MOST_LINES)
              .toReversed()
              .map(({ at, address, what, key }) => (
                <tr key={key}>
                  <td class="quiet">{at.slice(11, 19)}</td>
                  <td>{address}</td>
                  <td>{what}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

/** For screen readers. It has no duration, so it is announced only when something has ended. */
function progressOf({ rows, outcome }: Chart): string {
  const count = (statuses: readonly string[]) => rows.filter(({ status }) => statuses.includes(status)).length;
  const failed = count(['failed', 'notReady']);
  const end = outcome === 'unfinished' ? '' : ` The run has ended: ${outcome}.`;
  return `${count(['done'])} of ${rows.length} done${failed > 0 ? `, ${failed} failed` : ''}.${end}`;
}

const MOST_LINES = 500;
const MOST_PROBLEMS = 5;

/** A run that has ended has nothing at work: what it left is for the next apply. */
const talliesFor = (isOver: boolean) =>
  [
    ['done', 'good', ['done']],
    [isOver ? 'interrupted' : 'at work', isOver ? 'warn' : 'accent', ['working']],
    [isOver ? 'not begun' : 'waiting', 'quiet', ['waiting']],
    ['failed', 'bad', ['failed', 'notReady']],
    ['not done', 'warn', ['skipped', 'canceled']],
  ] as const;

function talliesOf({ rows, outcome }: RunView['chart']) {
  return talliesFor(outcome !== 'unfinished').map(([words, tone, statuses]) => ({
    words,
    tone,
    count: rows.filter(({ status }) => statuses.some((each) => each === status)).length,
  }));
}

/** What failed, in the words of the server: they are in the picture too, but only on hover. */
function Failures({ rows }: Pick<RunView['chart'], 'rows'>) {
  const failed = rows.filter(({ problem }) => problem);
  if (failed.length === 0) return null;
  return (
    <ul class="problems" aria-label="What failed">
      {failed.slice(0, MOST_PROBLEMS).map(({ address, problem }) => (
        <li key={address}>
          <strong>{address}</strong> {problem?.summary} <code>{problem?.code}</code>
          <pre>{problem?.detail}</pre>
          {problem?.hint && <p class="quiet">{problem.hint}</p>}
        </li>
      ))}
      {failed.length > MOST_PROBLEMS && <li>and {failed.length - MOST_PROBLEMS} more: the report has them all</li>}
    </ul>
  );
}

/** The rows of a prediction are those of single resources. */
function drawn(chart: Chart, prediction: Chart | undefined): string {
  const folded = foldedChart(chart);
  return drawTimeline(folded, { hasStyle: false, ...(folded === chart && { prediction }) });
}

/** Drawn by the code that draws reports. Every text in it is escaped there. */
function Picture({ chart, prediction }: { chart: Chart; prediction: Chart | undefined }) {
  const svg = useMemo(() => drawn(chart, prediction), [chart, prediction]);
  return (
    <Scroll label="Timeline" kind="picture">
      <div dangerouslySetInnerHTML={{ __html: svg }} />
    </Scroll>
  );
}
