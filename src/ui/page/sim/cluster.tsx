/** The simulated nodes with their guests, and every lock that is held. */
import type { SimulatedGuest, SimulatedLock, SimulatedNode, SimulatedView } from '../../server/simulated.ts';
import { useAct } from '../ask.ts';
import { GuestList, GuestRow, NodeCard, SharedStorages } from '../cluster.tsx';
import { Scroll } from '../parts.tsx';

export function SimulatedCluster({ view }: { view: SimulatedView }) {
  return (
    <>
      <SharedStorages nodes={view.nodes} />
      <div class="cards">
        {view.nodes.map((node) => (
          <Node key={node.node} node={node} />
        ))}
      </div>
      <h2 class="part">Locks</h2>
      <Locks locks={view.locks} />
    </>
  );
}

function Node({ node }: { node: SimulatedNode }) {
  const { act, problem } = useAct();
  const name = node.node;
  const words = node.isOnline ? 'Take offline' : 'Bring online';
  return (
    <NodeCard node={node}>
      <GuestList label={`Guests on ${name}`}>
        {node.guests.map((guest) => (
          <Guest key={guest.vmid} guest={guest} />
        ))}
      </GuestList>
      {!node.isEntry && (
        <p class="acts">
          <button
            type="button"
            aria-label={`${words}: ${name}`}
            onClick={() => act('/api/node', { node: name, isOnline: !node.isOnline })}
          >
            {words}
          </button>
        </p>
      )}
      {problem && <p class="warning">{problem}</p>}
    </NodeCard>
  );
}

function Guest({ guest }: { guest: SimulatedGuest }) {
  const { kind, lock } = guest;
  return (
    <GuestRow guest={guest}>
      {kind === 'container' && ' · container'}
      {lock !== undefined && <span class="badge interrupted">locked ({lock})</span>}
    </GuestRow>
  );
}

function Locks({ locks }: { locks: readonly SimulatedLock[] }) {
  if (locks.length === 0) return <p class="quiet">No lock is held right now. Most are held for less than a second.</p>;
  return (
    <Scroll label="Locks">
      <table>
        <thead>
          <tr>
            {['what it protects', 'mode', 'held by', 'waiting'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {locks.map(({ name, words, mode, holders, waiting }) => (
            <tr key={name}>
              <th scope="row">{words}</th>
              <td>{mode}</td>
              <td>{holders}</td>
              <td>{waiting}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
