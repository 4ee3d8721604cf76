/**
 * Kills a provider process at every point of an operation, before and after the effect of each request, and lets the host
 * continue with a new one: it refreshes, plans and applies, and the world must be the same as without the kill, nothing created twice.
 */

import { differences } from '../../simulation/engine/support/picture.ts';
import { pointsOf } from '../../support/depth.ts';
import { type Config, hasErrors, type Instance, type Outcome, ToyHost } from './toy-host.ts';
import { type BenchOptions, type Snapshot, VmBench } from './vm-bench.ts';
import { changedIdentities, identities, othersPicture, ownPicture, worldComplaints } from './vm-invariants.ts';

export interface DesiredResource {
  readonly config: Config | null;
  /** As the host remembers it when the operation begins: a process that dies tells it nothing. */
  readonly instance?: Instance | undefined;
}

export interface Operation {
  readonly name: string;
  readonly from?: Snapshot | undefined;
  /** Where there is no snapshot to begin from. */
  readonly world?: BenchOptions['world'];
  readonly resources: readonly DesiredResource[];
  /** Tasks that may happen so often as without a kill, however often the process dies. */
  readonly tasks: readonly string[];
  readonly secrets?: Readonly<Record<string, string>>;
}

/** The guests have booted by then. */
const SETTLED_MS = 120_000;

/** Takes every `stride`-th point, or more or fewer of them as the depth of the run asks for. */
export async function killEverywhere(operation: Operation, stride = 3): Promise<string[]> {
  const whole = begin(operation);
  const calmBefore = othersPicture(whole.world);
  const calm = await attempt(whole, operation, undefined);
  const names = namesOf(operation);
  assertCalm([...(calm.outcomes ?? []).flatMap(problemsOf), ...worldComplaints(whole.world, names, calmBefore)]);
  assertCalm(operation.tasks.filter((type) => whole.tasks(type).length === 0).map((type) => `there is no ${type}`));
  await whole.clock.advance(SETTLED_MS);
  const expected = ownPicture(whole.world);
  const counts = (bench: VmBench) => operation.tasks.map((type) => `${type} ${bench.tasks(type)}`);
  const failures: string[] = [];
  const imports: string[] = [];
  let kills = 0;
  for (const killAt of pointsOf(calm.points.length, stride)) {
    kills++;
    const bench = begin(operation);
    const before = othersPicture(bench.world);
    const killed = await attempt(bench, operation, killAt);
    const complaints = killed.outcomes ? ['it was not killed'] : [];
    // Some successors come at once, some when everything the dead process began has ended.
    if (killAt % 3 === 0) await bench.clock.advance(60_000);
    const known = identities(bench.world);
    const next = await goOn(bench, killed.resources);
    complaints.push(...next.complaints, ...worldComplaints(bench.world, names, before));
    await bench.clock.advance(SETTLED_MS);
    complaints.push(...differences(ownPicture(bench.world), expected));
    complaints.push(...changedIdentities(known, identities(bench.world)));
    if (`${counts(bench)}` !== `${counts(whole)}`)
      complaints.push(`tasks: ${counts(bench)} instead of ${counts(whole)}`);
    const point = calm.points[killAt - 1] ?? '';
    failures.push(...complaints.map((each) => `point ${killAt} (${point}): ${each}`));
    if (next.isImported) imports.push(point);
  }
  const note = imports.length === 0 ? '' : `; the host had to be told of a finished VM at ${imports.length}`;
  process.stdout.write(`${operation.name}: killed at ${kills} of ${calm.points.length} points${note}\n`);
  failures.push(...imports.filter((point) => !HANDED_OVER.test(point)).map((point) => `an import at ${point}`));
  return failures;
}

/**
 * When its mark has gone, a VM is finished and no other process takes it up; if the process dies before the host has heard of it, the
 * host is told by an import. That is one point for each VM and no more.
 */
const HANDED_OVER = /^after PUT .*\/config$/;
const UNHEARD_OF = 'A VM of this name is not in the state';

function begin({ from, world, secrets }: Operation): VmBench {
  const bench = new VmBench({ from, ...(world && { world }) });
  Object.assign(bench.secrets, secrets);
  return bench;
}

/** All resources at once in one process, as a host has them; and what the host remembers at its end. */
async function attempt(bench: VmBench, { resources }: Operation, killAt: number | undefined) {
  const process = bench.process({ killAt });
  const hosts = resources.map((desired) => hostOf(process, desired));
  const work = async () => Promise.all(hosts.map((host, index) => host.apply(resources[index]?.config ?? null)));
  const end = await bench.run(() => process.orDeath(work()));
  const later = resources.map(({ config }, index): DesiredResource => ({ config, instance: hosts[index]?.instance }));
  return { points: process.points, outcomes: 'kind' in end ? undefined : end, resources: later };
}

interface Continuation {
  readonly complaints: readonly string[];
  readonly isImported: boolean;
}

/** What the host does next, and what is wrong with it. */
async function goOn(bench: VmBench, resources: readonly DesiredResource[]): Promise<Continuation> {
  return bench.run(async () => {
    const process = bench.process();
    const later = bench.process();
    const ends = await Promise.all(
      resources.map((desired) => applyOrImport(bench, hostOf(process, desired), desired.config)),
    );
    const complaints = ends.flatMap((end) => end.complaints);
    for (const { host, config } of ends.filter((each) => each.host.instance)) {
      const plan = await hostOf(later, host).plan(config);
      if (plan.action !== 'none') complaints.push(`the plan after that is ${plan.action} of ${plan.changed}`);
      complaints.push(...problemsOf(plan));
    }
    return { complaints, isImported: ends.some((end) => end.isImported) };
  });
}

/** Applies; a finished VM that the host has not heard of is imported first, as the error says. */
export async function applyOrImport(bench: VmBench, host: ToyHost, config: Config | null) {
  const outcome = await applyOrSee(host, config);
  const isUnheardOf = outcome.diagnostics.some(({ summary }) => summary === UNHEARD_OF);
  if (config === null || !isUnheardOf) return { host, config, complaints: problemsOf(outcome), isImported: false };
  const { node, vmid } = bench.vm(String(config.name));
  const told = await host.import(`${node}/${vmid}`);
  const applied = await host.apply(config);
  return { host, config, complaints: [...told.map(({ detail }) => detail), ...problemsOf(applied)], isImported: true };
}

/** A host that finds nothing left of what it was to destroy has nothing to apply. */
async function applyOrSee(host: ToyHost, config: Config | null): Promise<Outcome> {
  if (config !== null) return host.apply(config);
  const seen = await host.refresh();
  if (hasErrors(seen) || !host.instance) return { action: 'none', changed: [], diagnostics: seen };
  return host.apply(null);
}

/** With this much in its state. */
export function hostOf(
  { resource }: Pick<ToyHost, 'resource'>,
  { instance }: Pick<DesiredResource, 'instance'>,
): ToyHost {
  const host = new ToyHost(resource);
  host.instance = instance;
  return host;
}

function namesOf({ resources }: Operation): string[] {
  return resources.flatMap(({ config }) => (config === null ? [] : [String(config.name)]));
}

export function problemsOf({ diagnostics }: Outcome): string[] {
  return diagnostics
    .filter(({ severity }) => severity === 'error')
    .map(({ summary, detail }) => `${summary}: ${detail}`);
}

/** Without a kill everything must go well, or the comparison means nothing. */
function assertCalm(failures: readonly string[]): void {
  if (failures.length > 0) throw new Error(failures.join('\n'));
}
