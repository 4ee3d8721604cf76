/**
 * What a stack needs if none of its resources exist yet and everything it refers to does: for a token that sees nothing yet,
 * for use without a server, and for the whole life of the VMs. Each kind says how its part of such a cluster looks. Pure.
 */
import type { Instant } from '../../base/clock.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import type { AssumeContext, Assumption } from '../../kinds/kind.ts';
import { NOTHING_OBSERVED, type Observed } from '../../kinds/observed.ts';
import { type AclPath, type OneOf, widened } from '../../kinds/privileges/need.ts';
import { emptyState } from '../../kinds/recorded.ts';
import { PLANNING_ORDER } from '../../kinds/registry.ts';
import { machinesOf, type ResolvedStack } from '../../kinds/stack.ts';
import type { ServerVersion } from '../../pve/compatibility.ts';
import { planStack } from '../plan.ts';
import { RequirementList } from './requirement.ts';
import { type PlanNeeds, requirementsOf } from './requirements.ts';

export interface AssumedInput extends AssumeContext {
  readonly version: ServerVersion;
  readonly now: Instant;
  readonly lifecycle?: boolean;
}

export type AssumedNeeds =
  | {
      readonly ok: true;
      readonly needs: PlanNeeds;
      /** What could not be read and how far the privileges reach because of that, in full sentences. */
      readonly guesses: readonly string[];
    }
  /** The file contradicts itself, whatever the token may do. */
  | { readonly ok: false; readonly problems: readonly Diagnostic[] };

export function assumedNeeds({ version, now, lifecycle = false, ...context }: AssumedInput): AssumedNeeds {
  const { stack, observed: parts, secrets, guesses, needs: guessed } = assume(context);
  const observed = { ...emptyWorld(stack, version, context.observed), ...parts };
  const planned = planStack({ stack, state: emptyState(stack.name), observed, secrets, now });
  if (!planned.ok) return planned;
  const exact = requirementsOf({ plan: planned.plan, stack, observed, version, lifecycle });
  return { ok: true, needs: { ...exact, requirements: withGuesses(exact, guessed) }, guesses };
}

/** What the kinds assume, each with the stack as the ones before it left it. */
function assume(context: AssumeContext): Required<Assumption> {
  let { stack } = context;
  const parts = PLANNING_ORDER.flatMap((kind): Assumption[] => {
    const part = kind.assumed?.({ ...context, stack });
    stack = part?.stack ?? stack;
    return part ? [part] : [];
  });
  return {
    stack,
    observed: Object.assign({}, ...parts.map(({ observed }) => observed)),
    secrets: new Map(parts.flatMap(({ secrets }) => [...(secrets ?? [])])),
    guesses: parts.flatMap(({ guesses = [] }) => guesses),
    needs: parts.flatMap(({ needs = [] }) => needs),
  };
}

function emptyWorld(stack: ResolvedStack, version: ServerVersion, known: AssumeContext['observed']): Observed {
  const nodes = machinesOf(stack).map(({ fields }) => [fields.node, { online: true }] as const);
  return {
    version: { version: version.version, release: '' },
    nodes: new Map<string, { readonly online: boolean }>([...(known?.nodes ?? []), ...nodes]),
    guests: new Map(),
    storages: new Map(),
    ...NOTHING_OBSERVED,
  };
}

function withGuesses({ requirements }: PlanNeeds, guessed: Required<Assumption>['needs']): PlanNeeds['requirements'] {
  const list = new RequirementList();
  for (const requirement of requirements) {
    const [first, ...rest] = requirement.paths;
    const real: OneOf<AclPath> = [widened(first), ...rest.map(widened)];
    for (const each of requirement.because) list.add({ ...requirement, paths: real }, each);
  }
  for (const { needs, step, whereOf } of guessed) {
    for (const need of needs) if (need.kind === 'privilege') list.add(need, { where: whereOf(need.cause), step });
  }
  return list.all;
}
