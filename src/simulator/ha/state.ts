/** High availability as data: the configuration, the manager's view, and its pending work. */
import type { Instant } from '../../base/clock.ts';

export interface HaState {
  /** Sections of resources.cfg by service id (`vm:100`); options as text. */
  readonly resources: Map<string, Map<string, string>>;
  /** Sections of rules.cfg by id, in the order of the file. */
  readonly rules: Map<string, HaRule>;
  /** Sections of groups.cfg by name, in releases with groups. */
  readonly groups: Map<string, Map<string, string>>;
  /** The manager's view, which is what `hastate` shows. */
  readonly services: Map<string, HaService>;
  /** Commands that no round has processed yet. */
  readonly commands: HaCommand[];
  /** The rounds of the cluster's manager; undefined until it had something to do for the first time. */
  manager: Rounds | undefined;
  /** The rounds of the nodes' managers. */
  readonly agents: Map<string, Rounds>;
}

interface RuleBase {
  readonly id: string;
  /** Service ids. */
  readonly resources: ReadonlySet<string>;
  readonly comment: string | undefined;
  readonly isDisabled: boolean;
}

/** The resources run on these nodes: if possible, or (strict) only there. */
export interface NodeAffinityRule extends RuleBase {
  readonly type: 'node-affinity';
  /** Priorities by node; higher is better. */
  readonly nodes: ReadonlyMap<string, number>;
  /** Undefined where the file does not say. */
  readonly strict: boolean | undefined;
}

/** The resources run on one node, or each on a separate node. */
export interface ResourceAffinityRule extends RuleBase {
  readonly type: 'resource-affinity';
  readonly affinity: 'positive' | 'negative';
}

export type HaRule = NodeAffinityRule | ResourceAffinityRule;

export type ServiceState = 'request_start' | 'started' | 'request_stop' | 'stopped' | 'migrate' | 'error';

export interface HaService {
  readonly sid: string;
  readonly vmid: number;
  /** Where the manager believes it is. */
  node: string;
  state: ServiceState;
  /** The current order of the node; a new number is a new order. */
  order: number;
  /** How the current order ended, once it has. */
  result: 'success' | 'error' | undefined;
  /** Of a stop: how long the guest has. */
  stopSeconds: number | undefined;
  /** The last start was seen to succeed. */
  isRunning: boolean;
  failures: number;
  /** Starts tried on the node since the last one that succeeded. */
  tries: number;
  /** The order that the node is working on. */
  working: number | undefined;
  /** Requested by a command that a round has processed. */
  stopRequested: StopCommand | undefined;
  /** Of a migration: the node it goes to. */
  target?: string | undefined;
}

export type HaCommand = StopCommand | MigrateCommand;

interface MigrateCommand {
  readonly sid: string;
  readonly target: string;
}

export interface StopCommand {
  readonly sid: string;
  readonly seconds: number;
}

/** A daemon that runs at intervals, shorter while it is idle. */
export interface Rounds {
  nextAt: Instant;
  isActive: boolean;
}

export function newHaState(): HaState {
  return {
    resources: new Map(),
    rules: new Map(),
    groups: new Map(),
    services: new Map(),
    commands: [],
    manager: undefined,
    agents: new Map(),
  };
}
