/**
 * One contest: two to five processes want the lock of one stack at about the same time, and each changes the same VMs. Some are
 * stopped for longer than their lease, some are killed, connections are cut, the server of the store restarts. Afterwards
 * the log of the simulator and what the processes were promised must agree.
 *
 * The seed chooses who is troubled, how and when. How the processes interleave is up to the machine, so a seed that failed once
 * may pass again; what it did is in the complaint.
 */
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { type Random, randomInteger, seededRandom } from '../../../src/base/random.ts';
import { readState } from '../../../src/state/state-file.ts';
import { stackText } from '../../e2e/project.ts';
import type { Arena, Change } from './arena.ts';
import type { Job, Said } from './worker.ts';

/** Short, so that a contest with dead and stopped runs takes seconds. */
const LEASE_MS = 1_200;
/** Of runs that are not to lose their lease, however busy the machine is. */
const CALM = { leaseMs: 60_000 };
const PATIENCE_MS = 20_000;
const STACK = 'contest';

type Trouble =
  | TroubleOf<'stop', { readonly who: number; readonly forMs: number; readonly isLong: boolean }>
  | TroubleOf<'kill', { readonly who: number }>
  | TroubleOf<'cut', { readonly forMs: number }>
  | TroubleOf<'restart'>;

type TroubleOf<Kind extends string, More = unknown> = More & {
  readonly kind: Kind;
  readonly atMs: number;
  /** Of a stop: longer than a lease. */
  readonly isLong?: boolean;
};

export interface ContestEnd {
  readonly complaints: readonly string[];
  readonly troubles: readonly Trouble[];
  readonly contestants: number;
  /** Runs that got the lock. */
  readonly runs: number;
  readonly changes: number;
  readonly events: number;
  /** How each contestant ended; those that were killed do not say. */
  readonly ends: readonly string[];
}

interface Contestant {
  readonly report: string;
  readonly directory: string;
  readonly tag: string;
}

/** The VMs that the contests are about. */
export async function prepare(arena: Arena): Promise<void> {
  const one = contestantOf(join(arena.directory, 'first'), 0, 0);
  await perform(arena, one, CALM);
  const code = endOf(saidIn(one.report));
  if (code !== 'done') throw new Error(`The VMs cannot be made: ${code}.`);
  await clear(arena, one);
}

export async function contest(arena: Arena, seed: number): Promise<ContestEnd> {
  const random = seededRandom(`contest ${seed}`);
  const contestants = randomInteger(random, 2, 5);
  const troubles = troublesOf(random, contestants);
  const before = arena.changes.length;
  const folder = join(arena.directory, String(seed));
  const all = Array.from({ length: contestants }, (_, index) => contestantOf(folder, seed, index));
  const children: (ChildProcess | undefined)[] = [];
  const isOver = new AbortController();
  const troubling = troubles.map((trouble) => strike(arena, trouble, children, isOver.signal));
  await Promise.all(
    all.map(async (one, index) => {
      await pause(randomInteger(random.fork(`start ${index}`), 0, 150));
      // On another machine it is not known that a process is dead: its lease has to end, where there are leases.
      const isElsewhere = !arena.scene.lockOrder && random.fork(`host ${index}`).next() < 0.5;
      const host = isElsewhere ? `machine-${index}` : undefined;
      const onStart = (child: ChildProcess) => {
        children[index] = child;
      };
      await perform(arena, one, { host, onStart });
      children[index] = undefined;
    }),
  );
  isOver.abort();
  await Promise.all(troubling);
  // When everything is calm again, one more run finishes what is unfinished.
  const last = contestantOf(folder, seed, contestants);
  await perform(arena, last, CALM);
  const changes = arena.changes.slice(before);
  const said = [...all, last].map(({ report }) => saidIn(report));
  const complaints = [
    ...(endOf(said.at(-1)) === 'done' ? [] : [`the last run ended with ${endOf(said.at(-1))}`]),
    ...said.flat().flatMap((each) => (each.said === 'ended' && each.code.startsWith('DEFECT') ? [each.code] : [])),
    ...overlaps(arena, [...all, last], said, changes),
    ...(await forgotten(arena, [...all, last], said)),
    ...olderStates(arena, said, await serialAtTheEnd(arena, last)),
  ];
  await clear(arena, last);
  return {
    complaints: complaints.map((each) => `seed ${seed}: ${each}; troubles: ${JSON.stringify(troubles)}`),
    troubles,
    contestants,
    runs: said.flat().filter((each) => each.said === 'held').length,
    changes: changes.length,
    events: said.flat().filter((each) => each.said === 'recorded').length,
    ends: said.slice(0, -1).map(endOf),
  };
}

function contestantOf(folder: string, seed: number, index: number): Contestant {
  const directory = join(folder, String(index));
  mkdirSync(directory, { recursive: true });
  return { report: join(folder, `${index}.jsonl`), directory, tag: `run-${seed}-${index}` };
}

interface Performance extends Partial<Pick<Job, 'stopsBeforeChange' | 'isCareless' | 'leaseMs'>> {
  readonly host?: string | undefined;
  onStart?(child: ChildProcess): void;
}

/**
 * A run is stopped between recording what it is about to change and sending it, for longer than its lease, while another run
 * takes over and ends. Returns what is wrong, and how the first run ended when it woke up.
 */
export async function wokenTooLate(
  arena: Arena,
  seed: number,
  isCareless: boolean,
): Promise<{ readonly complaints: readonly string[]; readonly end: string }> {
  const folder = join(arena.directory, String(seed));
  const [sleeper, other, last] = [0, 1, 2].map((index) => contestantOf(folder, seed, index)) as [
    Contestant,
    Contestant,
    Contestant,
  ]; // one for each index
  const before = arena.changes.length;
  let child: ChildProcess | undefined;
  const onStart = (each: ChildProcess) => {
    child = each;
  };
  let hasEnded = false;
  const manner = { host: 'elsewhere', stopsBeforeChange: true, isCareless, onStart };
  const sleeping = perform(arena, sleeper, manner).then(() => {
    hasEnded = true;
  });
  while (!child || stateOf(child.pid) !== 'T') {
    // On a busy machine it may lose its short lease before it gets that far.
    if (hasEnded) return wokenTooLate(arena, seed + 1, isCareless);
    await pause(20);
  }
  await perform(arena, other, CALM);
  child.kill('SIGCONT');
  await sleeping;
  await perform(arena, last, CALM);
  const all = [sleeper, other, last];
  const said = all.map(({ report }) => saidIn(report));
  const complaints = overlaps(arena, all, said, arena.changes.slice(before));
  await clear(arena, last);
  return { complaints, end: endOf(said[0]) };
}

/** proc(5): the state of a process. */
function stateOf(pid: number | undefined): string {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2)[0] ?? '';
}

/** Lets a process run the engine; resolves when it has ended or was killed. */
async function perform(
  arena: Arena,
  { tag, directory, report }: Contestant,
  { host = hostname(), onStart, ...more }: Performance = {},
): Promise<void> {
  const child = await arena.contestant();
  const ended = new Promise<void>((resolve) => {
    const end = () => {
      child.off('message', end).off('exit', end);
      resolve();
    };
    child.on('message', end).on('exit', end);
  });
  const job: Job = {
    ...arena.common,
    leaseMs: LEASE_MS,
    stack: stackText({ name: STACK, firstId: 4000, count: 2, more: `    tags: [${tag}]\n` }),
    directory,
    host,
    report,
    patienceMs: PATIENCE_MS,
    ...more,
  };
  child.send(job);
  onStart?.(child);
  await ended;
  // A run that failed ends its process: a lock that it could not give back is then known to be that of a dead one.
  if (endOf(saidIn(report)) === 'done') arena.giveBack(child);
  else child.kill('SIGKILL');
}

function troublesOf(random: Random, contestants: number): Trouble[] {
  const drawn = random.fork('troubles');
  return Array.from({ length: randomInteger(drawn, 1, 3) }, (): Trouble => {
    const who = randomInteger(drawn, 0, contestants - 1);
    const atMs = randomInteger(drawn, 0, 700);
    const chance = drawn.next();
    if (chance < 0.3) return { kind: 'kill', who, atMs };
    if (chance < 0.7) {
      const isLong = drawn.next() < 0.6;
      const forMs = isLong ? LEASE_MS + randomInteger(drawn, 200, 2_500) : randomInteger(drawn, 10, 400);
      return { kind: 'stop', who, atMs, forMs, isLong };
    }
    if (chance < 0.95) return { kind: 'cut', atMs, forMs: randomInteger(drawn, 0, 1_500) };
    return { kind: 'restart', atMs };
  });
}

async function strike(
  arena: Arena,
  trouble: Trouble,
  children: readonly (ChildProcess | undefined)[],
  isOver: AbortSignal,
): Promise<void> {
  await pause(trouble.atMs, isOver);
  if (isOver.aborted) return;
  switch (trouble.kind) {
    case 'restart':
      return arena.scene.restart?.();
    case 'cut':
      arena.wire.cut();
      await pause(trouble.forMs, isOver);
      return arena.wire.mend();
    case 'kill':
      return void children[trouble.who]?.kill('SIGKILL');
    case 'stop': {
      const child = children[trouble.who];
      child?.kill('SIGSTOP');
      // Also when the others have ended: a process that is stopped does not end.
      await pause(trouble.forMs);
      child?.kill('SIGCONT');
    }
  }
}

async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await systemClock.sleep(ms, signal).catch(() => {});
}

function saidIn(report: string): Said[] {
  if (!existsSync(report)) return [];
  const lines = readFileSync(report, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Said);
}

function endOf(said: readonly Said[] = []): string {
  const last = said.at(-1);
  return last?.said === 'ended' ? last.code : 'nothing';
}

/** The epoch under which each contestant held the lock: the store's own, or the place in the order of the server's locks. */
function epochsOf(arena: Arena, said: readonly (readonly Said[])[]): (number | undefined)[] {
  // A run that found its name taken gave the lock back, and changed nothing under it.
  return said.map((each) =>
    epochOf(
      arena,
      each.findLast((one) => one.said === 'held'),
    ),
  );
}

function epochOf(arena: Arena, held: Extract<Said, { said: 'held' }> | undefined): number | undefined {
  return held && (held.epoch ?? arena.scene.lockOrder?.(held.runId));
}

/** Changes arrive in the order of the epochs: once a later run has changed something, no earlier one does. */
function overlaps(
  arena: Arena,
  contestants: readonly Contestant[],
  said: readonly (readonly Said[])[],
  changes: readonly Change[],
): string[] {
  const epochs = epochsOf(arena, said);
  const known = epochs.filter((epoch) => epoch !== undefined);
  const found: string[] = [];
  if (new Set(known).size !== known.length) found.push(`two runs held the lock in one epoch: ${epochs}`);
  let last = 0;
  for (const { tag, line } of changes) {
    const epoch = epochs[contestants.findIndex((one) => one.tag === tag)];
    if (epoch === undefined) found.push(`${line} of ${tag || 'an unknown run'} came without the lock`);
    else if (epoch < last) found.push(`${line} of epoch ${epoch} came after one of epoch ${last}`);
    else last = epoch;
  }
  return found;
}

/** Every event that was acknowledged is in its journal, once, in order. */
async function forgotten(
  arena: Arena,
  contestants: readonly Contestant[],
  said: readonly (readonly Said[])[],
): Promise<string[]> {
  const found: string[] = [];
  for (const [index, one] of contestants.entries()) {
    const store = await viewOf(arena, one);
    const recorded = (said[index] ?? []).flatMap((each) => (each.said === 'recorded' ? [each] : []));
    for (const name of new Set(recorded.map((each) => each.name))) {
      const lines = ((await store.read(name)) ?? '').split('\n');
      const places = recorded.flatMap((each) => (each.name === name ? [lines.indexOf(each.line)] : []));
      const isInOrder = places.every((place, at) => place >= 0 && (at === 0 || place > (places[at - 1] ?? 0)));
      if (!isInOrder) found.push(`acknowledged events of ${one.tag} are at ${places} of its journal`);
      if (new Set(lines).size !== lines.length) found.push(`an event of ${one.tag} is twice in its journal`);
    }
    await store.close?.();
  }
  return found;
}

/** No run reads a state that is older than one that was saved under an earlier lock, and neither does the end. */
function olderStates(arena: Arena, said: readonly (readonly Said[])[], atTheEnd: number): string[] {
  const epochs = epochsOf(arena, said);
  const found: string[] = [];
  const savedBy = said.map((each) => each.flatMap((one) => (one.said === 'saved' ? [one.serial] : [])));
  for (const each of said) {
    for (const held of each) {
      if (held.said !== 'held') continue;
      const epoch = epochOf(arena, held) ?? 0;
      const earlier = savedBy.filter((_, other) => (epochs[other] ?? Infinity) < epoch).flat();
      if (held.serial < Math.max(0, ...earlier))
        found.push(`a run read the serial ${held.serial} after ${Math.max(...earlier)} was saved`);
    }
  }
  const newest = Math.max(0, ...savedBy.flat());
  if (atTheEnd < newest) found.push(`the state has the serial ${atTheEnd}, and ${newest} was saved`);
  return found;
}

async function serialAtTheEnd(arena: Arena, one: Contestant): Promise<number> {
  const store = await viewOf(arena, one);
  const { serial } = await readState(store, STACK);
  await store.close?.();
  return serial;
}

function viewOf(arena: Arena, { directory }: Contestant) {
  return arena.scene.open(STACK, directory);
}

/** The journals go, so that every contest costs the same. */
async function clear(arena: Arena, one: Contestant): Promise<void> {
  const store = await viewOf(arena, one);
  for (const name of await store.list('runs/')) await store.remove(name);
  await store.close?.();
}
