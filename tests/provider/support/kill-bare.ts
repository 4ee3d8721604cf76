/**
 * Kills a provider process at every point of an operation on an image or a template, and lets the host continue with a new
 * one: the result is the same as without the kill, and nothing was started twice.
 */

import { findOwnership } from '../../../src/kinds/vm/ownership.ts';
import { orphans } from '../../simulation/engine/support/picture.ts';
import { pointsOf } from '../../support/depth.ts';
import { BareBench, type BareProcess } from './bare-bench.ts';
import { problemsOf } from './kill-everywhere.ts';
import { type Config, hasErrors, type Instance, type ToyHost } from './toy-host.ts';
import type { Snapshot } from './vm-bench.ts';

export interface BareOperation {
  readonly name: string;
  readonly kind: 'image' | 'template';
  readonly from?: Snapshot | undefined;
  /** As the host remembers it when the operation begins. */
  readonly instance?: Instance | undefined;
  readonly config: Config | null;
  /** Tasks that happen so often as without a kill, however often the process dies. */
  readonly tasks: readonly string[];
}

const hostOf = (process: BareProcess, kind: BareOperation['kind']): ToyHost =>
  kind === 'image' ? process.images : process.templates;

export async function killBareEverywhere(operation: BareOperation): Promise<string[]> {
  const whole = new BareBench({ from: operation.from });
  const calm = await attempt(whole, operation, undefined);
  const absent = operation.tasks.filter((type) => whole.tasks(type).length === 0).map((type) => `there is no ${type}`);
  if (calm.problems.length + absent.length > 0) throw new Error([...calm.problems, ...absent].join('\n'));
  const expected = picture(whole);
  const failures: string[] = [];
  for (const killAt of pointsOf(calm.points.length, 5)) {
    const bench = new BareBench({ from: operation.from });
    const killed = await attempt(bench, operation, killAt);
    // Some successors come at once, some when everything the dead process began has ended.
    if (killAt % 3 === 0) await bench.clock.advance(600_000);
    const next = await goOn(bench, operation, killed.instance);
    const complaints = [...(killed.isKilled ? [] : ['it was not killed']), ...next.complaints];
    if (picture(bench) !== picture(whole)) complaints.push(`there is ${picture(bench)} instead of ${expected}`);
    const counts = (each: BareBench) => operation.tasks.map((type) => `${type} ${each.tasks(type)}`).join();
    if (counts(bench) !== counts(whole)) complaints.push(`tasks: ${counts(bench)} instead of ${counts(whole)}`);
    if (operation.config !== null) complaints.push(...(await leftAfterAll(bench, operation, next.instance)));
    complaints.push(...orphans(bench.world).map((volume) => `orphan volume ${volume}`));
    failures.push(...complaints.map((each) => `point ${killAt} (${calm.points[killAt - 1]}): ${each}`));
  }
  process.stdout.write(`${operation.name}: killed at ${calm.points.length} points\n`);
  return failures;
}

async function attempt(bench: BareBench, { kind, instance, config }: BareOperation, killAt: number | undefined) {
  const process = bench.hosts({ [kind]: instance }, { killAt });
  const host = hostOf(process, kind);
  const end = await bench.run(() => process.orDeath(host.apply(config)));
  const isKilled = 'kind' in end;
  return {
    isKilled,
    points: [...process.points],
    instance: host.instance,
    problems: isKilled ? [] : problemsOf(end),
  };
}

/** What the host does next, and what is wrong with it. */
async function goOn(bench: BareBench, { kind, config }: BareOperation, instance: Instance | undefined) {
  return bench.run(async () => {
    const host = hostOf(bench.hosts({ [kind]: instance }), kind);
    const seen = await host.refresh();
    if (hasErrors(seen)) return { complaints: seen.map(({ detail }) => detail), instance };
    // A host that finds nothing left of what it was to destroy has nothing to apply.
    if (config === null && !host.instance) return { complaints: [], instance: undefined };
    const complaints = problemsOf(await host.apply(config));
    if (config === null) return { complaints, instance: host.instance };
    const plan = await hostOf(bench.hosts({ [kind]: host.instance }), kind).plan(config);
    if (plan.action !== 'none') complaints.push(`the plan after that is ${plan.action} of ${plan.changed}`);
    return { complaints: [...complaints, ...problemsOf(plan)], instance: host.instance };
  });
}

/** What is still there when the host has destroyed what it made, and was not there before. */
async function leftAfterAll(
  bench: BareBench,
  { kind, from }: BareOperation,
  instance: Instance | undefined,
): Promise<string[]> {
  const before = new Set(picture(new BareBench({ from })).split(', '));
  const host = hostOf(bench.hosts({ [kind]: instance }), kind);
  const { diagnostics } = await bench.run(() => host.apply(null));
  // Without a record, the file of a process that died cannot be told from that of another stack: it stays, and the host is told.
  if (kind === 'image' && diagnostics.some(({ summary }) => summary === 'The file stays')) return [];
  return picture(bench)
    .split(', ')
    .filter((each) => !before.has(each))
    .map((each) => `${each} is left in the end`);
}

/** Everything that stands, without what chance decides. */
function picture(bench: BareBench): string {
  const guests = [...bench.world.vms.values()].map(({ vmid, config: { current } }) => {
    const line = findOwnership(current.get('description') ?? '');
    const marks = [current.has('template') && 'template', line?.incomplete && 'incomplete', current.get('lock')];
    return `${vmid} ${current.get('name')} ${current.get('memory')} ${marks.filter(Boolean).join(' ')}`;
  });
  return [...guests, ...bench.files()].sort().join(', ');
}
