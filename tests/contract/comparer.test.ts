/**
 * The comparer must notice every wrong answer. Each recorded answer is rendered as a server would have sent it, then
 * made wrong in one place at a time: each leaf changed, each key and element removed, one more added. What goes
 * unnoticed must be something the format declares free, and must stay a small part of the whole.
 */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { Binding } from './replay/binding.ts';
import { compareAnswer, compareOutcome } from './replay/compare.ts';
import { RECORDED_CREDENTIALS } from './replay/credentials.ts';
import { loadScenario, scenarioNames } from './replay/load.ts';
import { countLeaves, formatPlace, type Mutation, mutations, valueAt } from './replay/mutate.ts';
import { parseTemplate } from './replay/placeholders.ts';
import { Inventor } from './replay/recorded-transport.ts';
import {
  type Answer,
  isList,
  type Json,
  type JsonObject,
  member,
  type RecordedAnswer,
  type Scenario,
  type Step,
  type Strictness,
  type TaskOutcome,
} from './replay/types.ts';

const LARGEST_FREE_SHARE = 0.1;

/** One recorded thing, how it is compared, and what a server would have sent for it. */
interface Specimen {
  readonly id: string;
  readonly recorded: JsonObject;
  readonly rendered: JsonObject;
  readonly strictness: Strictness;
  readonly notices: (wrong: Json) => boolean;
  readonly accept: () => boolean;
}

describe('the comparer', () => {
  const verdicts = scenarioNames().map((name) => examine(loadScenario(name)));
  const leaves = sum(verdicts.map((verdict) => verdict.leaves));
  const freeLeaves = sum(verdicts.map((verdict) => verdict.freeLeaves));

  it('accepts every recorded answer as it is', () => {
    expect(verdicts.flatMap((verdict) => verdict.refused)).toEqual([]);
  });

  it('notices every change, removal and addition that the format does not declare free', () => {
    expect(verdicts.flatMap((verdict) => verdict.overlooked)).toEqual([]);
  });

  it('leaves at most a tenth of all leaves free', ({ annotate }) => {
    const share = `${freeLeaves} of ${leaves} leaves are free (${((100 * freeLeaves) / leaves).toFixed(1)} %)`;
    process.stdout.write(`comparer: ${share}\n`);
    expect(leaves).toBeGreaterThan(16_000);
    expect(freeLeaves / leaves).toBeLessThanOrEqual(LARGEST_FREE_SHARE);
    return annotate(share);
  });
});

interface Verdict {
  readonly leaves: number;
  readonly freeLeaves: number;
  readonly refused: readonly string[];
  readonly overlooked: readonly string[];
}

function examine(scenario: Scenario): Verdict {
  const clock = new VirtualClock();
  const password = RECORDED_CREDENTIALS.login.password;
  const inventor = new Inventor(clock, scenario, password);
  const binding = new Binding(() => clock.now(), { exactTime: true });
  binding.set('password', password);
  const specimens = scenario.steps.flatMap((step) => specimensOf(step, inventor, binding));
  const verdicts = specimens.map((specimen) => examineSpecimen(specimen, scenario.scenario));
  return {
    leaves: sum(verdicts.map((verdict) => verdict.leaves)),
    freeLeaves: sum(verdicts.map((verdict) => verdict.freeLeaves)),
    refused: verdicts.flatMap((verdict) => verdict.refused),
    overlooked: verdicts.flatMap((verdict) => verdict.overlooked),
  };
}

/** The specimen is accepted last: until then the placeholders are bound as they were when a replay came here. */
function examineSpecimen(specimen: Specimen, scenario: string): Verdict {
  const freePlaces = new Set<string>();
  const overlooked: string[] = [];
  for (const mutation of mutations(specimen.rendered)) {
    // An answer has a status, a reason and a body, and an outcome a status and a log: they cannot get more parts.
    const impossible = mutation.kind === 'added' && mutation.place.length === 1;
    if (impossible || specimen.notices(mutation.value)) continue;
    const place = formatPlace(mutation.place);
    if (mutation.kind === 'changed') freePlaces.add(place);
    if (!isFree(specimen, mutation)) overlooked.push(`${scenario} ${specimen.id} ${mutation.kind} ${place}`);
  }
  const refused = specimen.accept() ? [] : [`${scenario} ${specimen.id}`];
  return { leaves: countLeaves(specimen.rendered), freeLeaves: freePlaces.size, refused, overlooked };
}

function specimensOf(step: Step, inventor: Inventor, binding: Binding): readonly Specimen[] {
  switch (step.kind) {
    case 'request':
      return [answerSpecimen(step.id, step, step.response, inventor, binding)];
    case 'parallel':
      return step.requests.map((request) => answerSpecimen(request.id, request, request.response, inventor, binding));
    case 'poll':
      return step.samples.map((sample, index) =>
        answerSpecimen(`${step.id} sample ${index}`, step.request, sample.response, inventor, binding),
      );
    case 'await':
      return [outcomeSpecimen(step.id, step, step.response, inventor, binding)];
    case 'awaitgroup':
    case 'sleep':
      return [];
  }
}

function answerSpecimen(
  id: string,
  strictness: Strictness & { readonly allowed?: readonly RecordedAnswer[] },
  response: RecordedAnswer,
  inventor: Inventor,
  binding: Binding,
): Specimen {
  const { upid: _, ...recorded } = response;
  const rendered = { ...inventor.renderAnswer(response) };
  const fits = (answer: Answer) => {
    const data = member(answer.body, 'data');
    if (response.upid && typeof data === 'string') binding.set(`upid:${id}`, data);
    return compareAnswer({ ...strictness, response }, answer, binding).length === 0;
  };
  return {
    id,
    recorded: { ...recorded },
    rendered,
    strictness,
    notices: (wrong) => !binding.withoutTrace(() => fits(wrong as unknown as Answer)), // wrong on purpose
    accept: () => fits(rendered),
  };
}

function outcomeSpecimen(
  id: string,
  strictness: Strictness & { readonly allowed?: readonly TaskOutcome[] },
  response: TaskOutcome,
  inventor: Inventor,
  binding: Binding,
): Specimen {
  const rendered = { ...inventor.renderOutcome(response) };
  const fits = (outcome: TaskOutcome) => compareOutcome({ ...strictness, response }, outcome, binding).length === 0;
  return {
    id,
    recorded: { ...response },
    rendered,
    strictness,
    // The lines of a log reach the comparer as text, whatever the server sent.
    notices: (wrong) =>
      !binding.withoutTrace(() => fits({ status: member(wrong, 'status') ?? null, log: linesIn(wrong) })),
    accept: () => fits(rendered),
  };
}

function linesIn(outcome: Json): readonly string[] {
  const log = member(outcome, 'log');
  return isList(log) ? log.map(String) : [];
}

/** Whether the format says that this place may differ in this way. */
function isFree(specimen: Specimen, mutation: Mutation): boolean {
  const { loose } = specimen.strictness;
  if (loose === true) return true;
  const path = formatPlace(mutation.place);
  if (typeof loose === 'object' && loose.some((pattern) => isBelow(path, pattern))) return true;
  const recorded = valueAt(specimen.recorded, mutation.place);
  if (typeof recorded !== 'string') return false;
  if (mutation.place[0] === 'log' && mutation.kind === 'removed') return isProgress(recorded);
  if (mutation.kind !== 'changed') return false;
  return parseTemplate(recorded).placeholders.some(({ class: kind }) => FREE_CLASSES.has(kind));
}

/** Numbers and dates of the host are never bound; process ids and secrets are free where they first appear. */
const FREE_CLASSES: ReadonlySet<string> = new Set(['hostnum', 'date', 'pid', 'secret']);

const isProgress = (line: string) => line.startsWith('transferred ');

function isBelow(path: string, pattern: string): boolean {
  if (pattern.endsWith('*')) return path.startsWith(pattern.slice(0, -1));
  return path === pattern || path.startsWith(`${pattern}[`) || path.startsWith(`${pattern}.`);
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
