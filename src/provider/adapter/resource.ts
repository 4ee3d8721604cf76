/** The lifecycle of a resource, for every kind: from the calls of the host to the members of `ResourceKind` and back. */
import type { CtyObject } from '../cty/value.ts';
import type {
  ApplyRequest,
  ApplyResult,
  ImportResult,
  PlanRequest,
  PlanResponse,
  PrivateState,
  ProviderDiagnostic,
  ReadRequest,
  ReadResult,
  ResourceType,
} from '../provider.ts';
import { equalValues } from '../values/equal.ts';
import { type Deps, type DepsOf, depsDuring, requiredDeps } from './deps.ts';
import { type Applied, type DesiredResource, type Held, isRefused, type PlanDraft, type ResourceKind } from './kind.ts';
import { offline } from './offline.ts';
import { orDiagnostics } from './outcome.ts';
import { checked } from './plan-checks.ts';

export function resourceOf<Desired extends DesiredResource, Kept>(
  kind: ResourceKind<Desired, Kept>,
  depsOf: DepsOf,
): ResourceType {
  const { subject } = kind;
  const lifecycle = new Lifecycle(kind);
  return {
    ...offline(kind),
    read: (request, call) =>
      orDiagnostics(
        subject,
        () => lifecycle.read(depsDuring(call, depsOf), request),
        (diagnostics) => ({ ...request, diagnostics }),
      ),
    plan: (request, call) =>
      orDiagnostics(
        subject,
        () => lifecycle.plan(depsDuring(call, depsOf), request),
        (diagnostics) => ({
          planned: request.prior ?? request.proposed,
          requiresReplace: [],
          private: request.private,
          diagnostics,
        }),
      ),
    apply: (request, call) =>
      orDiagnostics(
        subject,
        () => lifecycle.apply(requiredDeps(depsDuring(call, depsOf)), request),
        (diagnostics) => ({ state: request.prior, private: request.private, diagnostics }),
      ),
    import: (id, call) =>
      orDiagnostics(
        subject,
        async () => lifecycle.imported(await kind.import(requiredDeps(depsDuring(call, depsOf)), id)),
        nothing,
      ),
    ...(kind.move && {
      move: (request) => orDiagnostics(subject, async () => lifecycle.imported(kind.move?.(request) ?? null), nothing),
    }),
  };
}

class Lifecycle<Desired extends DesiredResource, Kept> {
  readonly #kind: ResourceKind<Desired, Kept>;

  constructor(kind: ResourceKind<Desired, Kept>) {
    this.#kind = kind;
  }

  /** Without a server the state stays as it is. */
  async read(deps: Deps | undefined, request: ReadRequest): Promise<ReadResult> {
    const { state } = request;
    if (!deps) return { ...request, diagnostics: [] };
    this.#kind.noteState(state);
    const before = this.#held(state, request.private);
    const now = await this.#kind.read(deps, before);
    if (!now) return nothing([]);
    return {
      state: isSame(now.state, state) ? state : now.state,
      private: now.kept === before.kept ? request.private : this.#write(now.kept),
      diagnostics: [],
    };
  }

  async plan(deps: Deps | undefined, request: PlanRequest): Promise<PlanResponse> {
    const { prior, config } = request;
    const { attributes } = this.#kind.schema;
    if (prior) this.#kind.noteState(prior);
    const held = prior && this.#held(prior, request.private);
    const isRemoval = !config || !request.proposed;
    const draft = isRemoval
      ? { planned: null, ...(held && this.#kind.planDestroy(held)) }
      : await this.#draft(deps, config, held);
    const { notes = [], check, planned } = draft;
    return {
      planned: prior && planned && isSame(planned, prior) ? prior : planned,
      requiresReplace: ('replace' in draft && draft.replace) || [],
      // Also without a prior state: to replace an object, the host plans the new one and destroys the old one with this.
      private: request.private,
      diagnostics: [...notes, ...(check ? await checked(deps, attributes, check) : [])],
    };
  }

  #draft(deps: Deps | undefined, config: CtyObject, held: Held<Kept> | null): Promise<PlanDraft> {
    const request = { config, desired: this.#kind.desired(config, held !== null) };
    return held ? this.#kind.planUpdate(deps, request, held) : this.#kind.planCreate(deps, request);
  }

  async apply(deps: Deps, request: ApplyRequest): Promise<ApplyResult> {
    try {
      const { now, diagnostics } = await this.#applied(deps, request);
      if (now === undefined) return { state: request.prior, private: request.private, diagnostics };
      return now ? { state: now.state, private: this.#write(now.kept), diagnostics } : nothing(diagnostics);
    } finally {
      deps.forgetLooks();
    }
  }

  async #applied(deps: Deps, request: ApplyRequest): Promise<Applied<Kept>> {
    const { prior, planned, config } = request;
    const held = prior && this.#held(prior, request.private);
    if (!planned || !config) return held ? this.#kind.destroy(deps, held) : { now: null, diagnostics: [] };
    const desired = this.#kind.desired(config, held !== null);
    // Its warnings were shown by validate and by the plan.
    if (isRefused(desired)) return { diagnostics: desired.problems };
    const work = { planned, config, desired };
    return held ? this.#kind.update(deps, work, held) : this.#kind.create(deps, work);
  }

  imported(held: Held<Kept> | null): ImportResult {
    return held ? { state: held.state, private: this.#write(held.kept), diagnostics: [] } : nothing([]);
  }

  #held(state: CtyObject, bytes: PrivateState): Held<Kept> {
    return { state, kept: this.#kind.privateState.read(bytes) };
  }

  #write(kept: Kept): PrivateState {
    return this.#kind.privateState.write(kept);
  }
}

function nothing(diagnostics: readonly ProviderDiagnostic[]) {
  return { state: null, private: undefined, diagnostics };
}

function isSame(now: CtyObject, before: CtyObject): boolean {
  return Object.keys(now).every((name) => equalValues(now[name] ?? null, before[name] ?? null));
}
