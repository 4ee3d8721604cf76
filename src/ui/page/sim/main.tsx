/** The page of the simulator: the cluster, its tasks, and the faults that can be switched on. All of it is live. */
import { render } from 'preact';
import type { SimulatedView } from '../../server/simulated.ts';
import { useLive } from '../ask.ts';
import { Frame, usePlace } from '../frame.tsx';
import { SimulatedCluster } from './cluster.tsx';
import { Faults } from './faults.tsx';
import { Tasks } from './tasks.tsx';

const VIEWS = [
  ['cluster', 'Cluster', SimulatedCluster],
  ['tasks', 'Tasks', Tasks],
  ['faults', 'Faults', Faults],
] as const;

function App() {
  const [view = '', detail = ''] = usePlace();
  const { value, isLost } = useLive<SimulatedView>('/api/live');
  const [name, title, View] = VIEWS.find(([each]) => each === view) ?? VIEWS[0];
  return (
    <Frame
      about={<span class="about">simulated cluster</span>}
      views={VIEWS.map(([each, words]) => ({ words, to: `#/${each}`, isCurrent: each === name }))}
      note={
        value ? `Proxmox VE ${value.version} at ${value.endpoint}${value.speed === 1 ? '' : `, ${value.speed} ×`}` : ''
      }
      title={title}
    >
      {isLost && <p class="warning">The simulator does not answer. It has been stopped, or is busy.</p>}
      {value ? <View view={value} detail={detail} /> : <p class="quiet">Reading…</p>}
    </Frame>
  );
}

const root = document.getElementById('app');
if (root) render(<App />, root);
