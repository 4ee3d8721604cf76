/** The cluster: a card for each node, the VMs of the stack first, other guests grey. */
import type { ComponentChildren } from 'preact';
import { groupAddress } from '../../base/address.ts';
import { groupedBy, shortRangesOf } from '../../base/values/groups.ts';
import { counted } from '../../base/values/units.ts';
import type { ClusterView, GuestView, NodeView, StorageView } from '../server/source.ts';
import { useView } from './ask.ts';
import { Fold, Level, Scroll, Shown, size } from './parts.tsx';

/** With more guests than this on a node, those of a group are folded into one line. */
const MOST_GUESTS = 8;

export function Cluster({ stack }: { stack: string }) {
  return (
    <Shown asked={useView(stack, 'cluster')}>
      {({ endpoint, version, nodes }) => (
        <>
          <p class="lead quiet">
            Proxmox VE {version} at {endpoint}
          </p>
          <Legend nodes={nodes} />
          <SharedStorages nodes={nodes} />
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

function Legend({ nodes }: Pick<ClusterView, 'nodes'>) {
  const guests = nodes.flatMap((node) => node.guests);
  const ours = guests.filter(isOurs);
  return (
    <p class="legend">
      <span class="key ours" aria-hidden="true" /> this stack: {counted(ours.length, 'VM')}
      <span class="key others" aria-hidden="true" /> others: {counted(guests.length - ours.length, 'guest')}
    </p>
  );
}

const isOurs = ({ address }: GuestView) => address !== undefined;

/** Storage that all nodes share is shown once. */
export function SharedStorages({ nodes }: { nodes: readonly Pick<NodeView, 'storages'>[] }) {
  const shared = new Map<string, StorageView>();
  for (const storage of nodes.flatMap(({ storages }) => storages)) {
    if (storage.isShared) shared.set(storage.storage, storage);
  }
  if (shared.size === 0) return null;
  return (
    <section class="card" aria-labelledby="shared-storages">
      <h2 id="shared-storages">
        Shared storage <small>the same for every node</small>
      </h2>
      <div class="levels">
        {[...shared.values()].map(({ storage, usedBytes, totalBytes }) => (
          <Level key={storage} label={storage} usedBytes={usedBytes} totalBytes={totalBytes} />
        ))}
      </div>
    </section>
  );
}

function Node({ node }: { node: NodeView }) {
  const ours = node.guests.filter(isOurs);
  const others = node.guests.filter((guest) => !isOurs(guest));
  const oursBytes = ours.reduce((sum, { usedMemoryBytes = 0 }) => sum + usedMemoryBytes, 0);
  return (
    <NodeCard node={node} oursBytes={oursBytes}>
      {ours.length > MOST_GUESTS ? (
        [...groupedBy(ours, ({ address = '' }) => groupAddress(address))].map(([family, members]) => (
          <Family key={family} family={family} members={members} node={node.node} />
        ))
      ) : (
        <Guests label={`VMs of the stack on ${node.node}`} guests={ours} />
      )}
      {others.length > MOST_GUESTS ? (
        <Fold kind="family others" isOpen={false} title={`${others.length} other guests`}>
          <Guests label={`Other guests on ${node.node}`} kind="others" guests={others} />
        </Fold>
      ) : (
        <Guests label={`Other guests on ${node.node}`} kind="others" guests={others} />
      )}
    </NodeCard>
  );
}

/** `vm.worker  60 running, VM 106–165`, and each of them when it is opened. */
function Family({ family, members, node }: { family: string; members: readonly GuestView[]; node: string }) {
  const running = members.filter(({ status }) => status === 'running').length;
  const states = [
    ...(running > 0 ? [`${running} running`] : []),
    ...(running < members.length ? [`${members.length - running} off`] : []),
  ];
  return (
    <Fold
      kind="family"
      isOpen={false}
      title={
        <>
          <span class={`dot ${running === members.length ? 'running' : ''}`} aria-hidden="true" />
          <span class="name">{family}</span>{' '}
          <span class="quiet">
            {states.join(', ')} · VM {shortRangesOf(members.map(({ vmid }) => vmid))}
          </span>
        </>
      }
    >
      <Guests label={`${family} on ${node}`} guests={members} />
    </Fold>
  );
}

/** A node with its memory and storages; its guests are the children. */
export function NodeCard({
  node: { node, isOnline, cpus, memory, storages, guests },
  oursBytes = 0,
  children,
}: {
  node: Omit<NodeView, 'guests'> & { readonly guests: readonly unknown[] };
  /** Of the memory in use, what the VMs of the stack use. */
  oursBytes?: number;
  children: ComponentChildren;
}) {
  return (
    <section class={isOnline ? 'card' : 'card offline'} aria-labelledby={`node-${node}`}>
      <h2 id={`node-${node}`}>
        {node}{' '}
        <small>
          {isOnline ? `${cpus ?? '?'} CPUs` : 'offline'}, {guests.length === 1 ? '1 guest' : `${guests.length} guests`}
        </small>
      </h2>
      {memory && <Level label="memory" {...memory} oursBytes={oursBytes} />}
      {storages
        .filter(({ isShared }) => !isShared)
        .map(({ storage, usedBytes, totalBytes }) => (
          <Level key={storage} label={storage} usedBytes={usedBytes} totalBytes={totalBytes} />
        ))}
      {children}
    </section>
  );
}

export function Guests({ label, kind = '', guests }: { label: string; kind?: string; guests: readonly GuestView[] }) {
  if (guests.length === 0) return null;
  return (
    <GuestList label={label} kind={kind}>
      {guests.map((guest) => (
        <GuestRow key={guest.vmid} guest={guest}>
          {guest.address !== undefined && ` · ${guest.address}`}
        </GuestRow>
      ))}
    </GuestList>
  );
}

export function GuestList({
  label,
  kind = '',
  children,
}: {
  label: string;
  kind?: string;
  children: ComponentChildren;
}) {
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
