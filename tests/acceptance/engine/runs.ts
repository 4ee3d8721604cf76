/** Runs of the engine on a stack text, as the command makes them: with a lock, a journal and a state in a directory. */
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Address } from '../../../src/base/address.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { formatDiagnostic } from '../../../src/base/diagnostics.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { type ResolvedSecret, Secret } from '../../../src/base/secret.ts';
import { type PlanResult, snapshotPlan } from '../../../src/engine/plan.ts';
import type { Requirement } from '../../../src/engine/privileges/requirement.ts';
import { type PlanOptions, Session } from '../../../src/engine/session.ts';
import type { Plan } from '../../../src/kinds/change.ts';
import type { SnapshotRequest } from '../../../src/kinds/kind.ts';
import { machinesOf } from '../../../src/kinds/stack.ts';
import { secretDigest } from '../../../src/kinds/vm/config/secret-values.ts';
import { secretFieldsOf } from '../../../src/kinds/vm/fields/secrets.ts';
import { createImageSources } from '../../../src/local/image-sources.ts';
import { tcpPortProbe } from '../../../src/local/port-probe.ts';
import type { Pve } from '../../../src/pve/index.ts';
import { loadStack, type ResolvedStack, resolveStack } from '../../../src/spec/index.ts';
import { DirectoryStore } from '../../../src/state/directory-store.ts';

export interface Runs {
  readonly pve: Pve;
  readonly clock: Clock;
  readonly stateDirectory: string;
  /** Where relative paths of the stack begin. */
  readonly directory?: string;
}

export function resolved(text: string): ResolvedStack {
  const { stack, diagnostics } = resolveStack(loadStack(text, 'stack.json'), {});
  if (!stack) throw new Error(diagnostics.map(formatDiagnostic).join('\n'));
  return stack;
}

/** What a plan would do, or why there is none. */
export function plan(runs: Runs, text: string): Promise<PlanResult> {
  return withSession(runs, text, 'plan', (session) => session.plan());
}

/** Plans and carries out; throws where anything is refused or any VM is not done. */
export function apply(runs: Runs, text: string, options: PlanOptions = {}): Promise<Plan> {
  return withSession(runs, text, 'apply', async (session) => carryOut(session, await session.plan(options)));
}

export function destroy(
  runs: Runs,
  text: string,
  options: { readonly all?: boolean; readonly destroyData?: readonly string[] } = {},
): Promise<Plan> {
  return withSession(runs, text, 'destroy', async (session) =>
    carryOut(session, await session.planDestroy({ running: 'stop', ...options })),
  );
}

/** Takes, deletes or goes back to a snapshot of every VM; a refusal comes back, a failure is thrown. */
export function snapshot(runs: Runs, text: string, request: SnapshotRequest): Promise<PlanResult> {
  return withSession(runs, text, `snapshot ${request.kind}`, async (session) => {
    const planned = await session.planAsked(snapshotPlan({ request }));
    if (planned.ok) await carryOut(session, planned);
    return planned;
  });
}

export function planDestroy(runs: Runs, text: string): Promise<PlanResult> {
  return withSession(runs, text, 'destroy', (session) => session.planDestroy({ running: 'stop' }));
}

/** The privileges that a plan needs from the token that carries it out. */
export function requirements(runs: Runs, text: string, command: 'apply' | 'destroy'): Promise<readonly Requirement[]> {
  return withSession(runs, text, 'plan', async (session) => {
    const planned = await (command === 'apply' ? session.plan() : session.planDestroy({ running: 'stop' }));
    if (!planned.ok) throw new Error(planned.problems.map(formatDiagnostic).join('\n'));
    return (await session.privilegesFor(planned.plan)).requirements;
  });
}

async function carryOut(session: Session, planned: PlanResult): Promise<Plan> {
  if (!planned.ok) throw new Error(planned.problems.map(formatDiagnostic).join('\n'));
  if (planned.plan.steps.length === 0) return planned.plan;
  const { outcomes, problems } = await session.execute(planned.plan);
  const failed = [...outcomes].filter(([, outcome]) => outcome !== 'done');
  if (failed.length > 0) {
    const words = [...problems.values()].map(formatDiagnostic);
    throw new Error([...failed.map(([address, outcome]) => `${address}: ${outcome}`), ...words].join('\n'));
  }
  return planned.plan;
}

async function withSession<T>(
  { pve, clock, stateDirectory, directory = stateDirectory }: Runs,
  text: string,
  command: string,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const stack = resolved(text);
  const sources = createImageSources({
    clock,
    cacheDirectory: join(stateDirectory, 'cache'),
    baseDirectory: directory,
  });
  const session = await Session.open({
    pve,
    clock,
    random: systemRandom,
    log: silentLogger,
    store: new DirectoryStore(stateDirectory),
    ports: tcpPortProbe,
    sources: sources.source,
    signal: new AbortController().signal,
    stack,
    secrets: documentsOf(stack),
    owner: { who: 'acceptance', host: hostname(), pid: process.pid, command },
  });
  try {
    return await work(session);
  } finally {
    await session.close();
    await sources.close();
  }
}

/** Cloud-init files are in the text itself; these stacks hold no other secret. */
function documentsOf(stack: ResolvedStack): ReadonlyMap<Address, ReadonlyMap<string, ResolvedSecret>> {
  return new Map(
    machinesOf(stack).map(({ address, fields }) => [
      address,
      new Map(
        secretFieldsOf(fields).flatMap(({ path, reference }): [string, ResolvedSecret][] => {
          if (!('text' in reference)) return [];
          const value = new Secret(reference.text);
          return [[path, { value, digest: secretDigest('acceptance', value) }]];
        }),
      ),
    ]),
  );
}
