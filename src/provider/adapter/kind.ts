/**
 * The contract between the adapter and a kind of resource. The adapter owns the lifecycle: which call means what, when
 * a server is needed, private state, failures. A kind says what its configuration means to the engine, what the host
 * shows, and what forces a replacement.
 */
import type { AttributePath } from '../cty/path.ts';
import type { CtyObject } from '../cty/value.ts';
import type { HostCapabilities, MoveRequest, ProviderDiagnostic } from '../provider.ts';
import type { Schema } from '../schema/model.ts';
import type { Deps } from './deps.ts';
import type { Subject } from './outcome.ts';
import type { PrivateFormat } from './private-state.ts';
import type { Timeouts } from './timeouts.ts';

/** A configuration as the engine reads it. */
export interface DesiredResource {
  readonly timeouts: Timeouts;
  /** Dotted paths of what is known only after apply. */
  readonly unknown: readonly string[];
  readonly problems: readonly ProviderDiagnostic[];
}

/** A warning refuses nothing. */
export function isRefused({ problems }: DesiredResource): boolean {
  return problems.some(({ severity }) => severity === 'error');
}

/** What the host keeps for a resource: attributes that it shows, and private state that it does not. */
export interface Held<Kept> {
  readonly state: CtyObject;
  readonly kept: Kept;
}

export interface Configured<Desired> {
  readonly config: CtyObject;
  readonly desired: Desired;
}

export interface Planned<Desired> extends Configured<Desired> {
  readonly planned: CtyObject;
}

/** What a plan shows. */
export interface PlanDraft extends PlanFindings {
  readonly planned: CtyObject;
  /** Attributes whose change needs a new resource. */
  readonly replace?: readonly AttributePath[];
}

export interface PlanFindings {
  readonly notes?: readonly ProviderDiagnostic[];
  /** Whether the server would accept it. Called where a server is known, as `plan_checks` says. */
  readonly check?: (deps: Deps) => Promise<readonly ProviderDiagnostic[]>;
}

export interface Applied<Kept> {
  /** What the host holds from now on; null: nothing. Absent: what it held before. */
  readonly now?: Held<Kept> | null;
  readonly diagnostics: readonly ProviderDiagnostic[];
}

/** From version n of the schema to n + 1, by n. The state is plain JSON; new attributes become null by themselves. */
export type Migrations = readonly ((state: StoredState) => StoredState)[];
export type StoredState = Readonly<Record<string, unknown>>;

/** What is known without a server: enough to validate a configuration and to migrate a state. */
export interface ResourceRules<Desired extends DesiredResource> {
  readonly subject: Subject;
  readonly schema: Schema;
  /** One entry for each time the version of the schema was raised. */
  readonly migrations?: Migrations;
  /** `exists`: whether it exists, or may exist, already. */
  desired(config: CtyObject, exists: boolean): Desired;
  /** What `desired` alone cannot see. */
  validate?(config: CtyObject, capabilities: HostCapabilities): readonly ProviderDiagnostic[];
}

export interface ResourceKind<Desired extends DesiredResource, Kept> extends ResourceRules<Desired> {
  readonly privateState: PrivateFormat<Kept>;
  /** Called with every state that the host sends, before anything else happens to it. */
  noteState(state: CtyObject): void;

  /** Null: it is gone. The same `kept` object: private state has not changed. */
  read(deps: Deps, held: Held<Kept>): Promise<Held<Kept> | null>;
  planCreate(deps: Deps | undefined, request: Configured<Desired>): Promise<PlanDraft>;
  planUpdate(deps: Deps | undefined, request: Configured<Desired>, prior: Held<Kept>): Promise<PlanDraft>;
  planDestroy(prior: Held<Kept>): PlanFindings;
  create(deps: Deps, request: Planned<Desired>): Promise<Applied<Kept>>;
  update(deps: Deps, request: Planned<Desired>, prior: Held<Kept>): Promise<Applied<Kept>>;
  destroy(deps: Deps, prior: Held<Kept>): Promise<Applied<Kept>>;
  import(deps: Deps, id: string): Promise<Held<Kept>>;
  /** From another provider's resource. The provider is not configured then, so there is no server to ask. */
  move?(request: MoveRequest): Held<Kept>;
}
