/** The page of stacks: which stack and which view its address names. */
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { StackEntry } from '../server/source.ts';
import { ask } from './ask.ts';
import { Cluster } from './cluster.tsx';
import { Frame, usePlace } from './frame.tsx';
import { Doctor, Drift, Outputs } from './lists.tsx';
import { Reading } from './parts.tsx';
import { Plan } from './plan.tsx';
import { LiveRun, Run, Runs } from './runs.tsx';

const VIEWS = [
  ['cluster', 'Cluster', Cluster],
  ['plan', 'Plan', Plan],
  ['live', 'Live', LiveRun],
  ['runs', 'Runs', Runs],
  ['drift', 'Drift', Drift],
  ['outputs', 'Outputs', Outputs],
  ['doctor', 'Doctor', Doctor],
] as const;

function App() {
  const [stacks, setStacks] = useState<readonly StackEntry[]>();
  const [id = '', view = 'cluster', detail = ''] = usePlace();
  useEffect(() => {
    void ask<readonly StackEntry[]>('/api').then(setStacks, () => setStacks([]));
  }, []);
  if (!stacks) return <Reading />;
  const stack = stacks.find((each) => each.id === id) ?? stacks[0];
  if (!stack) return <p class="quiet">There is no stack file in this directory.</p>;
  const [name, title, View] = VIEWS.find(([each]) => each === (view || 'cluster')) ?? VIEWS[0];
  const to = (next: string, other = stack.id) => `#/${encodeURIComponent(other)}/${next}`;
  return (
    <Frame
      about={
        <label>
          <span class="hidden">Stack</span>
          <select value={stack.id} onChange={(event) => location.assign(to(name, event.currentTarget.value))}>
            {stacks.map((each) => (
              <option key={each.id} value={each.id}>
                {each.name}
              </option>
            ))}
          </select>
        </label>
      }
      views={VIEWS.map(([each, words]) => ({ words, to: to(each), isCurrent: each === name }))}
      note="read-only"
      title={detail === '' ? title : `Run ${detail}`}
    >
      {name === 'runs' && detail !== '' ? (
        <Run key={stack.id + detail} stack={stack.id} runId={detail} />
      ) : (
        <View key={stack.id + name} stack={stack.id} />
      )}
    </Frame>
  );
}

const root = document.getElementById('app');
if (root) render(<App />, root);
