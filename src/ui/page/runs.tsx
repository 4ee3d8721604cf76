/** Runs: the list of earlier ones, one of them as a timeline, and the newest one while it grows. */
import { useEffect, useState } from 'preact/hooks';
import { printDuration } from '../../base/values/units.ts';
import { describeChart, drawTimeline } from '../picture/timeline.ts';
import type { RunView } from '../server/source.ts';
import { ask, useView } from './ask.ts';
import { Scroll, Shown } from './parts.tsx';

export function Runs({ stack }: { stack: string }) {
  return (
    <Shown asked={useView(stack, 'runs')}>
      {(runs) =>
        runs.length === 0 ? (
          <p>There is no run yet.</p>
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
                    <td>{startedAt}</td>
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

/** Without a run id: the newest one, live. */
export function Run({ stack, runId }: { stack: string; runId?: string }) {
  const [run, setRun] = useState<RunView>();
  const [chosen, setChosen] = useState('');
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    const path = `/api/${encodeURIComponent(stack)}`;
    if (runId !== undefined) {
      void ask<RunView>(`${path}/run/${encodeURIComponent(runId)}`).then(setRun, () => setLost(true));
      return undefined;
    }
    const events = new EventSource(`${path}/live`);
    events.onmessage = ({ data }) => {
      setLost(false);
      setRun(JSON.parse(String(data)) as RunView); // our own server
    };
    events.onerror = () => setLost(true);
    return () => events.close();
  }, [stack, runId]);
  if (!run)
    return (
      <p class="quiet">
        {isLost ? 'The run could not be read.' : 'No run has been recorded yet. The next one appears here.'}
      </p>
    );
  const { chart, log } = run;
  const lines = log.filter(({ address }) => chosen === '' || address === chosen);
  return (
    <>
      <p aria-live="polite">
        {describeChart(chart)}
        {isLost && ' The page has lost its server and tries again.'}
      </p>
      <Picture chart={chart} />
      <h2>Log</h2>
      <p>
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
      </p>
      <Scroll label="Log lines" kind="log">
        <table>
          <tbody>
            {lines
              .slice(-MOST_LINES)
              .toReversed()
              .map(({ at, address, what }, index) => (
                <tr key={index}>
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

const MOST_LINES = 500;

/** Drawn by the code that draws reports. Every text in it is escaped there. */
function Picture({ chart }: { chart: RunView['chart'] }) {
  const svg = drawTimeline(chart, { hasStyle: false });
  return (
    <Scroll label="Timeline" kind="picture">
      <div dangerouslySetInnerHTML={{ __html: svg }} />
    </Scroll>
  );
}
