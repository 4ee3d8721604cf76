/** The page: which stack and which view its address names, and the frame around the view. */
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { StackEntry } from '../server/source.ts';
import { ask } from './ask.ts';
import { Cluster } from './cluster.tsx';
import { Doctor, Drift, Outputs, Plan } from './lists.tsx';
import { Run, Runs } from './runs.tsx';

const VIEWS = [
  ['cluster', 'Cluster', Cluster],
  ['plan', 'Plan', Plan],
  ['live', 'Live', Run],
  ['runs', 'Runs', Runs],
  ['drift', 'Drift', Drift],
  ['outputs', 'Outputs', Outputs],
  ['doctor', 'Doctor', Doctor],
] as const;

/** `#/lab/runs/ID`: a link to it can be kept. */
function placeOf(hash: string): readonly string[] {
  return hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);
}

function App() {
  const [stacks, setStacks] = useState<readonly StackEntry[]>();
  const [place, setPlace] = useState(placeOf(location.hash));
  useEffect(() => {
    void ask<readonly StackEntry[]>('/api').then(setStacks, () => setStacks([]));
    const moved = () => setPlace(placeOf(location.hash));
    addEventListener('hashchange', moved);
    return () => removeEventListener('hashchange', moved);
  }, []);
  if (!stacks) return <p class="quiet">Reading…</p>;
  const [id = '', view = 'cluster', detail = ''] = place;
  const stack = stacks.find((each) => each.id === id) ?? stacks[0];
  if (!stack) return <p class="quiet">There is no stack file in this directory.</p>;
  const [name, title, View] = VIEWS.find(([each]) => each === (view || 'cluster')) ?? VIEWS[0];
  const to = (next: string, other = stack.id) => `#/${encodeURIComponent(other)}/${next}`;
  return (
    <>
      <button type="button" class="skip" onClick={skip}>
        Skip to the content
      </button>
      <header>
        <span class="brand">Proxwright</span>
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
        <nav aria-label="Views">
          {VIEWS.map(([each, words]) => (
            <a key={each} href={to(each)} aria-current={each === name ? 'page' : undefined}>
              {words}
            </a>
          ))}
        </nav>
        <span class="readonly">read-only</span>
      </header>
      <main id="content" tabIndex={-1}>
        <h1>{detail === '' ? title : `Run ${detail}`}</h1>
        {name === 'runs' && detail !== '' ? (
          <Run key={stack.id + detail} stack={stack.id} runId={detail} />
        ) : (
          <View key={stack.id + name} stack={stack.id} />
        )}
      </main>
    </>
  );
}

/** The fragment of the address names the view, so a link to a part of the page is not possible. */
function skip(): void {
  document.getElementById('content')?.focus();
}

const root = document.getElementById('app');
if (root) render(<App />, root);
