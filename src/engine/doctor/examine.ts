/** Reads what the doctor's checks look at. A missing privilege is a result; any other failure ends the examination. */
import type { Instant } from '../../base/clock.ts';
import { readIfAllowed } from '../../kinds/cluster.ts';
import { NOTHING_EXAMINED } from '../../kinds/doctor/examined.ts';
import type { Secrets } from '../../kinds/kind.ts';
import type { Observed } from '../../kinds/observed.ts';
import type { StackState } from '../../kinds/recorded.ts';
import { KINDS, unfinishedResources } from '../../kinds/registry.ts';
import { machinesOf, type ResolvedStack } from '../../kinds/stack.ts';
import type { Pve } from '../../pve/client.ts';
import { observe } from '../observe.ts';
import { foresee, type PlanResult, planStack } from '../plan.ts';
import { assumedNeeds } from '../privileges/assumed.ts';
import { checkNeeds, checkPrivileges } from '../privileges/check.ts';
import { explainUnseen } from '../privileges/unseen.ts';
import type { Examination, ObservedRights, ObservedTrust, WireTimes } from './examination.ts';

export interface ExamineInput {
  readonly pve: Pve;
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly secrets: Secrets;
  readonly now: Instant;
  readonly trust: ObservedTrust;
  readonly wire: WireTimes;
  readonly signal?: AbortSignal | undefined;
}

export async function examine(input: ExamineInput): Promise<Examination> {
  const { pve, stack, signal, now } = input;
  // Read as if everything were created: also templates and storages that this plan does not need.
  const everything = machinesOf(stack).map(({ address }) => address);
  const observed = await observe({
    pve,
    stack,
    state: input.state,
    signal,
    secrets: input.secrets,
    replace: everything,
    neighbours: 'always',
  });
  const state = withoutUnfinished(stack, input.state, observed);
  const planning = { stack, state, observed, secrets: input.secrets, now };
  const planned = planStack(planning);
  const result: PlanResult = planned.ok
    ? planned
    : { ok: false, problems: await explainUnseen({ pve, stack, problems: planned.problems, signal }) };
  const placed = planned.ok && planned.stack ? planned.stack : stack;
  const rights = await readRights({ ...input, stack: placed }, observed, result);
  const { grants } = rights.check;
  const [token, cluster, ...parts] = await Promise.all([
    readToken(input),
    readIfAllowed(() => pve.cluster.status({ signal }), 'Sys.Audit on /'),
    ...KINDS.map((kind) => kind.examine?.({ pve, stack, placed, observed, signal, grants })),
  ]);
  return {
    now,
    endpoint: pve.endpoint,
    principal: pve.principal,
    trust: input.trust,
    wire: input.wire,
    stack: placed,
    state,
    observed,
    foreseen: foresee(planning),
    result,
    rights,
    token,
    cluster,
    ...NOTHING_EXAMINED,
    ...Object.assign({}, ...parts),
  };
}

/** They count as VMs to create. */
function withoutUnfinished(stack: ResolvedStack, state: StackState, observed: Observed): StackState {
  const unfinished = new Set<string>(unfinishedResources(stack, state, observed).changes.map(({ address }) => address));
  const known = Object.entries(state.vms).filter(([address]) => !unfinished.has(address));
  return { ...state, vms: Object.fromEntries(known) };
}

async function readRights(input: ExamineInput, observed: Observed, result: PlanResult): Promise<ObservedRights> {
  const { pve, stack, signal, now } = input;
  const { version } = observed;
  const hasAny = Object.keys(await pve.access.permissions({}, { signal })).length > 0;
  const common = { pve, stack, version, signal, thorough: true };
  if (result.ok) {
    const check = await checkPrivileges({ ...common, plan: result.plan, observed });
    return { check, hasAny, basis: 'plan', guesses: [] };
  }
  // A token without privileges is offered everything that the VMs will ever need.
  const assumed = assumedNeeds({ stack, version, now, observed, lifecycle: !hasAny });
  const needs = assumed.ok ? assumed.needs : { requirements: [], rootOnly: [], tags: [] };
  const check = await checkNeeds(needs, common);
  return { check, hasAny, basis: 'assumed', guesses: assumed.ok ? assumed.guesses : [] };
}

async function readToken({ pve, signal }: ExamineInput): Promise<Examination['token']> {
  const [user = '', tokenId] = pve.principal.split('!');
  if (tokenId === undefined) return { ok: true, value: undefined };
  const needs = `User.Modify on /access/users/${user}`;
  const tokens = await readIfAllowed(() => pve.access.tokens(user, { signal }), needs);
  return tokens.ok ? { ok: true, value: tokens.value.find(({ tokenid }) => tokenid === tokenId) } : tokens;
}
