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

export interface CreateRequest {
  readonly planned: CtyObject;
  readonly config: CtyObject;
}

export interface DestroyRequest {
  readonly prior: CtyObject;
  readonly private: PrivateState;
}

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
  read(request: ReadRequest, call: AbortSignal): Promise<ReadResult>;
  plan(request: PlanRequest, call: AbortSignal): Promise<PlanResponse>;
  create(request: CreateRequest, call: AbortSignal): Promise<ApplyResult>;
  update(request: UpdateRequest, call: AbortSignal): Promise<ApplyResult>;
  destroy(request: DestroyRequest, call: AbortSignal): Promise<ApplyResult>;
  import(id: string, call: AbortSignal): Promise<ImportResult>;
  move?(request: MoveRequest): Promise<ImportResult>;
}

export function resourceOf(calls: ResourceCalls): ResourceType {
  const { schema, noun, move } = calls;
  const subject = { noun, attributes: schema.attributes };
  return {
    schema,
    validate: async (config, capabilities) => calls.validate(config, capabilities),
    upgrade: async ({ version, state }) => ({ state: calls.upgrade?.(version, state) ?? state, diagnostics: [] }),
    read: (request, call) =>
      orDiagnostics(
        subject,
        () => calls.read(request, call),
        (diagnostics) => ({ state: request.state, private: request.private, diagnostics }),
      ),
    plan: (request, call) =>
      orDiagnostics(
        subject,
        () => calls.plan(request, call),
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
        async () => {
          const { prior, planned, config } = request;
          if (prior && (!planned || !config)) return calls.destroy({ prior, private: request.private }, call);
          if (!planned || !config) return nothing([]);
          return prior
            ? calls.update({ prior, planned, config, private: request.private }, call)
            : calls.create({ planned, config }, call);
        },
        (diagnostics) => ({ state: request.prior, private: request.private, diagnostics }),
      ),
    import: (id, call) => orDiagnostics(subject, () => calls.import(id, call), nothing),
    ...(move && { move: (request) => orDiagnostics(subject, () => move(request), nothing) }),
  };
}
