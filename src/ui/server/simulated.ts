/**
 * The page of the simulator: its cluster as data, and what the page may do to it. Unlike the page of stacks it acts,
 * because nothing in it is real.
 */
import { type PageServer, type Reply, type ServeDeps, serveRoutes } from './serve.ts';
import type { GuestView, NodeView } from './source.ts';

export interface SimulatedGuest extends Omit<GuestView, 'address'> {
  readonly kind: 'vm' | 'container';
  /** The `lock` property: `backup`, `clone` … */
  readonly lock?: string;
}

export interface SimulatedNode extends Omit<NodeView, 'guests'> {
  /** The node whose server answers clients; it cannot be taken offline. */
  readonly isEntry: boolean;
  readonly guests: readonly SimulatedGuest[];
}

export interface SimulatedTask {
  readonly upid: string;
  readonly node: string;
  readonly type: string;
  readonly id: string;
  readonly user: string;
  /** ISO 8601, on the clock of the cluster. */
  readonly startedAt: string;
  /** Absent while it runs. */
  readonly tookMs?: number;
  readonly status: string;
  readonly outcome: 'running' | 'done' | 'warned' | 'failed';
  /** How many lines its log has, and the last of them. */
  readonly lines: number;
  readonly lastLine: string;
}

export interface SimulatedLock {
  readonly name: string;
  readonly words: string;
  readonly mode: 'shared' | 'exclusive';
  readonly holders: number;
  readonly waiting: number;
}

export interface SimulatedFault {
  readonly id: number;
  readonly kind: string;
  /** In the short form of `--faults`. */
  readonly rule: string;
  readonly words: string;
  readonly isOn: boolean;
  readonly strikes: number;
  /** Why it cannot strike, as the cluster is now. */
  readonly hint?: string;
}

export interface SimulatedView {
  readonly endpoint: string;
  readonly version: string;
  readonly speed: number;
  readonly nodes: readonly SimulatedNode[];
  /** The newest first. */
  readonly tasks: readonly SimulatedTask[];
  readonly locks: readonly SimulatedLock[];
  readonly faults: readonly SimulatedFault[];
  /** The newest first. */
  readonly strikes: readonly { readonly at: string; readonly kind: string; readonly what: string }[];
}

export interface FaultKindView {
  readonly kind: string;
  readonly words: string;
  readonly example: string;
}

/** What was done, or why it was not. */
export type Done = { readonly ok: true } | { readonly ok: false; readonly detail: string; readonly hint?: string };

export interface SimulatedSource {
  view(): SimulatedView;
  kinds(): readonly FaultKindView[];
  /** Undefined if there is no such task. */
  log(upid: string): readonly string[] | undefined;
  addFault(rule: string): Done;
  turnFault(id: number, isOn: boolean): Done;
  turnNode(node: string, isOnline: boolean): Done;
}

export function serveSimulated(source: SimulatedSource, deps: ServeDeps, port = 0): Promise<PageServer> {
  return serveRoutes(
    { show: async (parts) => shown(parts, source), act: async (parts, sent) => acted(parts, sent, source) },
    deps,
    port,
  );
}

function shown([area, name, upid, ...rest]: readonly string[], source: SimulatedSource): Reply | undefined {
  if (area !== 'api' || rest.length > 0) return undefined;
  if (name === 'log' && upid !== undefined) return { kind: 'json', value: source.log(upid) };
  if (upid !== undefined) return undefined;
  if (name === 'kinds') return { kind: 'json', value: source.kinds() };
  if (name === 'view') return { kind: 'json', value: source.view() };
  if (name !== 'live') return undefined;
  return {
    kind: 'live',
    look: async (seen) => {
      const value = source.view();
      const mark = JSON.stringify(value);
      return mark === seen ? undefined : { mark, value };
    },
  };
}

function acted([area, name, ...rest]: readonly string[], sent: unknown, source: SimulatedSource): Reply | undefined {
  if (area !== 'api' || rest.length > 0 || typeof sent !== 'object' || sent === null) return undefined;
  const said: Readonly<Record<string, unknown>> = { ...sent };
  const done = ((): Done | undefined => {
    if (name === 'fault' && typeof said.rule === 'string') return source.addFault(said.rule);
    if (name === 'fault' && typeof said.id === 'number' && typeof said.isOn === 'boolean') {
      return source.turnFault(said.id, said.isOn);
    }
    if (name === 'node' && typeof said.node === 'string' && typeof said.isOnline === 'boolean') {
      return source.turnNode(said.node, said.isOnline);
    }
    return undefined;
  })();
  return done && { kind: 'json', value: done };
}
