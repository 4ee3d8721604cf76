/** The cluster: a card for each node, the VMs of the stack in front, the guests of others grey. */
import type { GuestView, NodeView } from '../server/source.ts';
import { useView } from './ask.ts';
import { Level, Shown, size } from './parts.tsx';

export function Cluster({ stack }: { stack: string }) {
  return (
    <Shown asked={useView(stack, 'cluster')}>
      {({ endpoint, version, nodes }) => (
        <>
          <p class="quiet">
            Proxmox VE {version} at {endpoint}
          </p>
          <div class="cards">
            {nodes.map((node) => (
              <Node key={node.node} node={node} />
            ))}
          </div>
        </>
      )}
    </Shown>
  );
}

function Node({ node: { node, isOnline, cpus, memory, storages, guests } }: { node: NodeView }) {
  const ours = guests.filter(({ address }) => address !== undefined);
  const others = guests.filter(({ address }) => address === undefined);
  return (
    <section class="card" aria-labelledby={`node-${node}`}>
      <h2 id={`node-${node}`}>
        {node} <small>{isOnline ? `${cpus ?? '?'} CPUs` : 'offline'}</small>
      </h2>
      {memory && <Level label="memory" {...memory} />}
      {storages.map(({ storage, ...room }) => (
        <Level key={storage} label={storage} {...room} />
      ))}
      <ul class="guests" aria-label={`VMs of the stack on ${node}`}>
        {ours.map((guest) => (
          <Guest key={guest.vmid} guest={guest} />
        ))}
      </ul>
      {others.length > 0 && (
        <ul class="guests others" aria-label={`Other guests on ${node}`}>
          {others.map((guest) => (
            <Guest key={guest.vmid} guest={guest} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Guest({ guest: { vmid, name, status, memoryBytes, address, isTemplate } }: { guest: GuestView }) {
  return (
    <li>
      <span class={`dot ${status}`} aria-hidden="true" />
      <span class="name">{name}</span>
      <span class="quiet">
        {vmid} · {isTemplate ? 'template' : status} · {size(memoryBytes)}
        {address !== undefined && ` · ${address}`}
      </span>
    </li>
  );
}
