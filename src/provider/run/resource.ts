/** A resource out of its calls: which of them an apply means, and what becomes of expected failures, is the same for all. */
import type { CtyObject } from '../cty/value.ts';
import type {
  ApplyResult,
  HostCapabilities,
  ImportResult,
  MoveRequest,
  PlanRequest,
  PlanResponse,
  PrivateState,
  ProviderDiagnostic,
  ReadRequest,
  ReadResult,
  ResourceType,
} from '../provider.ts';
import type { Schema } from '../schema/model.ts';
import { nothing, orDiagnostics } from './outcome.ts';

export interface UpdateRequest {
  readonly prior: CtyObject;
  readonly planned: CtyObject;
  readonly config: CtyObject;
  readonly private: PrivateState;
}

export interface ResourceCalls {
  /** What it is called in messages. */
  readonly noun: string;
  readonly schema: Schema;
  validate(config: CtyObject, capabilities: HostCapabilities): readonly ProviderDiagnostic[];
  /** A state of an earlier version of the schema. */
  upgrade?(version: number, state: unknown): unknown;
  read(request: ReadRequest): Promise<ReadResult>;
  plan(request: PlanRequest): Promise<PlanResponse>;
  create(planned: CtyObject, config: CtyObject): Promise<ApplyResult>;
  update(request: UpdateRequest): Promise<ApplyResult>;
  destroy(prior: CtyObject, bytes: PrivateState): Promise<ApplyResult>;
  import(id: string): Promise<ImportResult>;
  move?(request: MoveRequest): Promise<ImportResult>;
}

export function resourceOf(calls: ResourceCalls): ResourceType {
  const { schema, noun, move } = calls;
  const subject = { noun, attributes: schema.attributes };
  return {
    schema,
    validate: async (config, capabilities) => calls.validate(config, capabilities),
    upgrade: async ({ version, state }) => ({ state: calls.upgrade?.(version, state) ?? state, diagnostics: [] }),
    read: (request) =>
      orDiagnostics(
        subject,
        () => calls.read(request),
        (diagnostics) => ({ state: request.state, private: request.private, diagnostics }),
      ),
    plan: (request) =>
      orDiagnostics(
        subject,
        () => calls.plan(request),
        (diagnostics) => ({
          planned: request.prior ?? request.proposed,
          requiresReplace: [],
          private: request.private,
          diagnostics,
        }),
      ),
    apply: (request) =>
      orDiagnostics(
        subject,
        async () => {
          const { prior, planned, config } = request;
          if (prior && (!planned || !config)) return calls.destroy(prior, request.private);
          if (!planned || !config) return nothing([]);
          return prior
            ? calls.update({ prior, planned, config, private: request.private })
            : calls.create(planned, config);
        },
        (diagnostics) => ({ state: request.prior, private: request.private, diagnostics }),
      ),
    import: (id) => orDiagnostics(subject, () => calls.import(id), nothing),
    ...(move && { move: (request) => orDiagnostics(subject, () => move(request), nothing) }),
  };
}
