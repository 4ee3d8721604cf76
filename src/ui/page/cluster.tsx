/** The cluster: a card for each node, the VMs of the stack in front, the guests of others grey. */
import type { ComponentChildren } from 'preact';
import type { GuestView, NodeView } from '../server/source.ts';
import { useView } from './ask.ts';
import { Level, Scroll, Shown, size } from './parts.tsx';

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

function Node({ node }: { node: NodeView }) {
  const ours = node.guests.filter(({ address }) => address !== undefined);
  const others = node.guests.filter(({ address }) => address === undefined);
  return (
    <NodeCard node={node}>
      {ours.length > 0 && (
        <Guests label={`VMs of the stack on ${node.node}`}>
          {ours.map((guest) => (
            <GuestRow key={guest.vmid} guest={guest}>
              {` · ${guest.address}`}
            </GuestRow>
          ))}
        </Guests>
      )}
      {others.length > 0 && (
        <Guests label={`Other guests on ${node.node}`} kind="others">
          {others.map((guest) => (
            <GuestRow key={guest.vmid} guest={guest} />
          ))}
        </Guests>
      )}
    </NodeCard>
  );
}

/** A node with its memory and storages; its guests are the children. */
export function NodeCard({
  node: { node, isOnline, cpus, memory, storages, guests },
  children,
}: {
  node: Omit<NodeView, 'guests'> & { readonly guests: readonly unknown[] };
  children: ComponentChildren;
}) {
  return (
    <section class="card" aria-labelledby={`node-${node}`}>
      <h2 id={`node-${node}`}>
        {node}{' '}
        <small>
          {isOnline ? `${cpus ?? '?'} CPUs` : 'offline'}, {guests.length === 1 ? '1 guest' : `${guests.length} guests`}
        </small>
      </h2>
      {memory && <Level label="memory" {...memory} />}
      {storages.map(({ storage, ...room }) => (
        <Level key={storage} label={storage} {...room} />
      ))}
      {children}
    </section>
  );
}

export function Guests({ label, kind = '', children }: { label: string; kind?: string; children: ComponentChildren }) {
  return (
    <Scroll label={label} kind="plain">
      <ul class={`guests ${kind}`} aria-label={label}>
        {children}
      </ul>
    </Scroll>
  );
}

export function GuestRow({
  guest: { vmid, name, status, memoryBytes, isTemplate },
  children,
}: {
  guest: Omit<GuestView, 'address'>;
  children?: ComponentChildren;
}) {
  return (
    <li>
      <span class={`dot ${status}`} aria-hidden="true" />
      <span class="name">{name}</span>
      <span class="quiet">
        {vmid} · {isTemplate ? 'template' : status} · {size(memoryBytes)}
        {children}
      </span>
    </li>
  );
}
