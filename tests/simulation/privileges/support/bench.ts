/**
 * A cluster, a stack and a token whose rights are exactly what a test gives it. A phase is one plan and its execution; it
 * starts from a picture of the world, so that many of them can start from the same.
 */
import type { Diagnostic } from '../../../../src/base/diagnostics.ts';
import { ProxwrightError } from '../../../../src/base/errors.ts';
import { silentLogger } from '../../../../src/base/log.ts';
import { observe } from '../../../../src/engine/observe.ts';
import { checkPrivileges, type PrivilegeCheck } from '../../../../src/engine/privileges/check.ts';
import type { Requirement } from '../../../../src/engine/privileges/requirement.ts';
import { explainUnseen } from '../../../../src/engine/privileges/unseen.ts';
import { type PlanOptions, Session } from '../../../../src/engine/session.ts';
import type { Plan } from '../../../../src/kinds/change.ts';
import type { AclPath } from '../../../../src/kinds/privileges/need.ts';
import { createPve, parseToken } from '../../../../src/pve/index.ts';
import { isPortOpen } from '../../../../src/simulator/guests/addresses.ts';
import {
  buildWorld,
  createSimulator,
  seededRandom,
  VirtualClock,
  type World,
  type WorldFile,
} from '../../../../src/simulator/index.ts';
import { MemoryStore } from '../../../../src/state/memory-store.ts';
import { resolved, secretsOf } from '../../engine/support/scene.ts';
import { SOURCES } from '../../from-bare/support/sent-image.ts';

const ADMIN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';
const USER = 'prov@pve';
export const PRINCIPAL = `${USER}!tok`;
const TOKEN_SECRET = '00000000-0000-4000-8000-0000000000aa';

/** One privilege on one path, for the user and for its token. */
export interface Grant {
  readonly privilege: string;
  readonly path: string;
  readonly propagate: boolean;
}

export interface Picture {
  readonly world: World;
  readonly now: number;
  readonly documents: ReadonlyMap<string, string>;
}

/** One command of an operator, and what another client did before it. */
export type Phase = { readonly outside?: (world: World) => void } & (
  | { readonly kind: 'apply'; readonly stack: string; readonly options?: PlanOptions }
  | { readonly kind: 'destroy'; readonly stack: string; readonly all?: boolean }
);

/** A life in phases; each begins where the one before ended. */
export interface Scenario {
  readonly name: string;
  readonly world?: (file: WorldFile) => WorldFile;
  readonly phases: readonly (Phase & { readonly name: string })[];
}

export interface PhaseEnd {
  readonly plan: Plan | undefined;
  /** What speaks against the plan, or against executing it. */
  readonly problems: readonly Diagnostic[];
  readonly check: PrivilegeCheck | undefined;
  /** Whether anything was executed, and all of it well. */
  readonly outcome: 'refused' | 'done' | 'failed';
  /** Method and path of everything that is no GET. */
  readonly writes: readonly string[];
  /** Questions about the token's rights. */
  readonly questions: number;
  readonly after: Picture;
}

export function firstPicture(file: WorldFile): Picture {
  const clock = new VirtualClock();
  const users = { ...file.users, [USER]: { tokens: { tok: { secret: TOKEN_SECRET, privsep: true } } } };
  const world = buildWorld({ ...file, users }, { now: clock.now(), file: 'privileges' });
  return { world, now: clock.now(), documents: new Map() };
}

export interface RunOptions {
  /** What the token has; the administrator runs the phase where it is left out. */
  readonly grants?: readonly Grant[];
  /** Off: the plan is executed whatever the check says. */
  readonly check?: 'obey' | 'ignore';
  readonly execute?: boolean;
  readonly thorough?: boolean;
}

export async function runPhase(from: Picture, phase: Phase, options: RunOptions = {}): Promise<PhaseEnd> {
  const { grants, check: manner = 'obey', execute = true, thorough = false } = options;
  const clock = new VirtualClock(from.now);
  const world = structuredClone(from.world);
  phase.outside?.(world);
  if (grants) give(world, grants);
  const simulator = createSimulator({ world, clock, random: seededRandom('privileges') });
  const writes: string[] = [];
  let questions = 0;
  const transport = simulator.transport();
  const pve = createPve({
    transport: {
      send: (request, sendOptions) => {
        if (request.method !== 'GET') writes.push(`${request.method} ${request.target}`);
        if (request.target.includes('/access/permissions')) questions++;
        return transport.send(request, sendOptions);
      },
      close: () => transport.close(),
    },
    credentials: parseToken(grants ? `${PRINCIPAL}=${TOKEN_SECRET}` : ADMIN),
    clock,
    random: seededRandom('client'),
  });
  const store = new MemoryStore();
  for (const [name, text] of from.documents) await store.write(name, text);
  const stack = resolved(phase.stack);
  const signal = new AbortController().signal;
  const work = async (): Promise<Omit<PhaseEnd, 'after' | 'writes' | 'questions'>> => {
    const session = await Session.open({
      pve,
      clock,
      random: seededRandom('session'),
      log: silentLogger,
      store,
      ports: { isOpen: async (address, port) => isPortOpen(simulator.runtime, address, port) },
      signal,
      stack,
      sources: SOURCES,
      secrets: secretsOf(stack),
      owner: { who: 'tester', host: 'here', pid: 1, command: phase.kind },
    });
    try {
      const planned = await (phase.kind === 'apply'
        ? session.plan({ ...phase.options, checkPrivileges: false })
        : session.planDestroy({ running: 'stop', all: phase.all === true, checkPrivileges: false }));
      if (!planned.ok) {
        const problems = await explainUnseen({ pve, stack, problems: planned.problems, signal });
        return { plan: undefined, problems, check: undefined, outcome: 'refused' };
      }
      const { plan } = planned;
      const replace = phase.kind === 'apply' ? phase.options?.replace : undefined;
      const observed = await observe({ pve, stack, state: session.state, signal, replace, secrets: secretsOf(stack) });
      const check = await checkPrivileges({ pve, plan, stack, version: observed.version, observed, signal, thorough });
      const isRefused = manner === 'obey' && check.missing.length > 0;
      if (isRefused || !execute) return { plan, problems: check.missing, check, outcome: 'refused' };
      const { outcomes, problems } = await session.execute(plan);
      const isDone = [...outcomes.values()].every((outcome) => outcome === 'done');
      return { plan, problems: [...problems.values()], check, outcome: isDone ? 'done' : 'failed' };
    } finally {
      await session.close();
    }
  };
  const end = await clock.run(() => work().catch(failed));
  return { ...end, writes, questions, after: await picture(world, clock.now(), store) };
}

function failed(error: unknown): Omit<PhaseEnd, 'after' | 'writes' | 'questions'> {
  if (!(error instanceof ProxwrightError)) throw error;
  return { plan: undefined, problems: [error.diagnostic], check: undefined, outcome: 'refused' };
}

async function picture(world: World, now: number, store: MemoryStore): Promise<Picture> {
  const documents = new Map<string, string>();
  for (const name of await store.list()) documents.set(name, (await store.read(name)) ?? '');
  return { world: structuredClone(world), now, documents };
}

/** One role for each path and way of propagation; an entry replaces what is inherited, so each holds all of its path. */
function give(world: World, grants: readonly Grant[]): void {
  const { access } = world;
  for (const [index, grant] of grants.entries()) {
    const role = `Test${index}`;
    access.roles.set(role, { roleid: role, privileges: new Set([grant.privilege]), special: false });
    const { path, propagate } = grant;
    access.acl.push({ path, kind: 'user', ugid: USER, role, propagate });
    access.acl.push({ path, kind: 'token', ugid: PRINCIPAL, role, propagate });
  }
}

/** Exactly what is needed, and of alternatives the first, unless something that is there anyway will do. */
export function exactGrants(requirements: readonly Requirement[]): Grant[] {
  const grants = new Map<string, Grant>();
  const inOrder = requirements.toSorted((a, b) => choices(a) - choices(b));
  for (const { privileges, paths } of inOrder) {
    const has = (grant: Grant) =>
      privileges.includes(grant.privilege) && paths.some((path) => reaches(grant, path, requirements));
    if ([...grants.values()].some(has)) continue;
    const [{ path, below = false }] = paths;
    grants.set(`${privileges[0]} ${path}`, { privilege: privileges[0], path, propagate: below });
  }
  return [...grants.values()];
}

/** From above only where nothing else is asked for there, because an entry replaces what its path inherits. */
function reaches(grant: Grant, { path, below }: AclPath, requirements: readonly Requirement[]): boolean {
  if (grant.path === path) return !below || grant.propagate;
  const others = requirements.filter(({ paths }) => paths.some((each) => each.path === path));
  return grant.propagate && path.startsWith(`${grant.path}/`) && others.length === 1;
}

/** What leaves no choice comes first, and what reaches further before that. */
function choices({ privileges, paths }: Requirement): number {
  if (paths[0].below && privileges.length === 1) return 0;
  return privileges.length * 10 + paths.length;
}

export const printGrant = ({ privilege, path }: Grant) => `${privilege} on ${path}`;

export function stackOf(vms: string): string {
  return `version: 1\nstack: lab\nvms:\n${vms}`;
}
