/** The tasks of the cluster, the newest first, and the log of the selected one, live. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { printDuration } from '../../../base/values/units.ts';
import type { SimulatedTask, SimulatedView } from '../../server/simulated.ts';
import { ask } from '../ask.ts';
import { Scroll } from '../parts.tsx';

const BADGES = { running: 'running', done: 'done', warned: 'interrupted', failed: 'failed' } as const;

export function Tasks({ view: { tasks }, detail }: { view: SimulatedView; detail: string }) {
  const chosen = tasks.find(({ upid }) => upid === detail);
  if (tasks.length === 0) {
    return <p class="quiet">No task has run yet. Let a client do something, for example: proxwright apply</p>;
  }
  return (
    <>
      {chosen && <Log key={chosen.upid} task={chosen} />}
      <Scroll label="Tasks" kind="tall">
        <table>
          <thead>
            <tr>
              {['task', 'node', 'by', 'began', 'took', 'status', 'last line'].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {tasks.map((task) => (
              <Row key={task.upid} task={task} isChosen={task === chosen} />
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

function Row({ task, isChosen }: { task: SimulatedTask; isChosen: boolean }) {
  const { upid, type, id, node, user, startedAt, tookMs, status, outcome, lastLine } = task;
  return (
    <tr class={isChosen ? 'chosen' : ''}>
      <th scope="row">
        <a href={`#/tasks/${encodeURIComponent(upid)}`} aria-current={isChosen ? 'true' : undefined}>
          {type} {id}
        </a>
      </th>
      <td>{node}</td>
      <td>{user}</td>
      <td>{startedAt.slice(11, 19)}</td>
      <td>{tookMs === undefined ? '' : printDuration(tookMs)}</td>
      <td>
        <span class={`badge ${BADGES[outcome]}`}>{outcome === 'failed' ? 'failed' : status}</span>
      </td>
      <td class="line">{outcome === 'failed' ? status : lastLine}</td>
    </tr>
  );
}

function Log({ task: { upid, type, id, lines } }: { task: SimulatedTask }) {
  const [log, setLog] = useState<readonly string[]>([]);
  const end = useRef<HTMLSpanElement>(null);
  // The end of a log shows how the task ended.
  useEffect(() => end.current?.scrollIntoView({ block: 'nearest' }), [log]);
  useEffect(() => {
    let isShown = true;
    void ask<readonly string[]>(`/api/log/${encodeURIComponent(upid)}`).then(
      (next) => isShown && setLog(next),
      () => {}, // the page says so already
    );
    return () => {
      isShown = false;
    };
  }, [upid, lines]);
  return (
    <section class="card" aria-labelledby="log">
      <h2 id="log">
        Log of {type} {id}{' '}
        <small>
          <a href="#/tasks">close</a>
        </small>
      </h2>
      <p class="quiet">{upid}</p>
      <Scroll label="Log lines" kind="log">
        <pre>
          {log.join('\n')}
          <span ref={end} />
        </pre>
      </Scroll>
    </section>
  );
}
