/**
 * Compares a received answer or task outcome with the recorded one and names every difference.
 * What may differ is stated here and nowhere else: order of object lists, of `content` lists and of nested problems
 * in `errors`, and (in `progress.ts`) how many progress lines a log has.
 */
import type { Binding } from './binding.ts';
import { collapseProgress } from './progress.ts';
import {
  type Answer,
  isList,
  isObject,
  type Json,
  type JsonObject,
  member,
  type RecordedAnswer,
  type Strictness,
  type TaskOutcome,
  type UpidShape,
} from './types.ts';

export interface Mismatch {
  /** Where, such as `body.data.scsi0`; empty when it concerns the step as a whole. */
  readonly path: string;
  readonly expected: string;
  readonly got: string;
}

interface Options {
  readonly loosePaths: readonly string[];
  readonly ordered: boolean;
}

/** An answer against the recorded one or any of the allowed others; binds placeholders only if one fits. */
export function compareAnswer(
  recorded: Strictness & { readonly response: RecordedAnswer; readonly allowed?: readonly RecordedAnswer[] },
  got: Answer,
  binding: Binding,
): readonly Mismatch[] {
  const options = optionsOf(recorded);
  return firstThatFits([recorded.response, ...(recorded.allowed ?? [])], recorded.loose === true, (expected) =>
    binding.tentatively(() => [
      ...matchObject(
        { status: expected.status, reason: expected.reason, body: expected.body },
        { status: got.status, reason: got.reason, body: got.body },
        binding,
        '',
        options,
      ),
      ...(expected.upid ? compareUpidShape(expected.upid, member(got.body, 'data')) : []),
    ]),
  );
}

/** A finished task against the recorded outcome; the order of log lines matters. */
export function compareOutcome(
  recorded: Strictness & { readonly response: TaskOutcome; readonly allowed?: readonly TaskOutcome[] },
  got: TaskOutcome,
  binding: Binding,
): readonly Mismatch[] {
  const options = { ...optionsOf(recorded), ordered: true };
  return firstThatFits([recorded.response, ...(recorded.allowed ?? [])], recorded.loose === true, (expected) =>
    binding.tentatively(() => matchObject(comparableOutcome(expected), comparableOutcome(got), binding, '', options)),
  );
}

/** The mismatches with the first candidate, which is the regular one, unless some candidate fits. */
function firstThatFits<T>(
  candidates: readonly T[],
  anything: boolean,
  compare: (candidate: T) => readonly Mismatch[],
): readonly Mismatch[] {
  let first: readonly Mismatch[] | undefined;
  for (const candidate of candidates) {
    const mismatches = compare(candidate);
    // A step that may answer anything is still compared once: what fits is bound for later steps.
    if (mismatches.length === 0 || anything) return [];
    first ??= mismatches;
  }
  return first ?? [];
}

function optionsOf(strictness: Strictness): Options {
  return {
    loosePaths: typeof strictness.loose === 'object' ? strictness.loose : [],
    ordered: strictness.ordered === true,
  };
}

function comparableOutcome(outcome: TaskOutcome): JsonObject {
  return { status: outcome.status, log: collapseProgress(outcome.log) };
}

function match(expected: Json, got: Json, binding: Binding, path: string, options: Options): readonly Mismatch[] {
  if (isLoose(path, options)) return [];
  if (typeof expected === 'string') return matchText(expected, got, binding, path);
  if (isList(expected)) return matchList(expected, got, binding, path, options);
  if (isObject(expected)) return matchObject(expected, got, binding, path, options);
  return expected === got ? [] : [{ path, expected: shown(expected), got: shown(got) }];
}

function matchText(expected: string, got: Json, binding: Binding, path: string): readonly Mismatch[] {
  const separator = separatorOfUnorderedText(path);
  const normal = (text: string) => (separator === undefined ? text : text.split(separator).sort().join(separator));
  const misfit = binding.match(
    typeof got === 'string' ? normal(expected) : expected,
    typeof got === 'string' ? normal(got) : got,
  );
  return misfit ? [{ path, ...misfit }] : [];
}

function separatorOfUnorderedText(path: string): string | undefined {
  if (/(^|\.)content$/.test(path)) return ',';
  if (path.startsWith('body.errors.')) return '\n';
  return undefined;
}

function matchList(
  expected: readonly Json[],
  got: Json,
  binding: Binding,
  path: string,
  options: Options,
): readonly Mismatch[] {
  if (!isList(got)) return [{ path, expected: 'a list', got: shown(got) }];
  const unordered = !options.ordered && expected.some(isObject);
  return unordered
    ? matchUnordered(expected, got, binding, path, options)
    : matchOrdered(expected, got, binding, path, options);
}

function matchOrdered(
  expected: readonly Json[],
  got: readonly Json[],
  binding: Binding,
  path: string,
  options: Options,
): readonly Mismatch[] {
  const both = expected.slice(0, got.length);
  const differences = both.flatMap((element, index) =>
    match(element, got[index] ?? null, binding, `${path}[${index}]`, options),
  );
  const missing = expected.slice(got.length).map((element, index) => ({
    path: `${path}[${got.length + index}]`,
    expected: shown(element),
    got: NOTHING,
  }));
  const extra = got.slice(expected.length).map((element, index) => ({
    path: `${path}[${expected.length + index}]`,
    expected: NOTHING,
    got: shown(element),
  }));
  return [...differences, ...missing, ...extra];
}

/** Each recorded element takes the first received one that fits; for one that finds none, the nearest is shown. */
function matchUnordered(
  expected: readonly Json[],
  got: readonly Json[],
  binding: Binding,
  path: string,
  options: Options,
): readonly Mismatch[] {
  const left = [...got];
  const unmatched: { readonly element: Json; readonly at: string }[] = [];
  for (const [index, element] of expected.entries()) {
    const at = `${path}[${index}]`;
    const partner = left.findIndex(
      (candidate) => binding.tentatively(() => match(element, candidate, binding, at, options)).length === 0,
    );
    if (partner >= 0) left.splice(partner, 1);
    else unmatched.push({ element, at });
  }
  const result: Mismatch[] = [];
  for (const { element, at } of unmatched) {
    const nearest = nearestOf(left, (candidate) =>
      binding.withoutTrace(() => match(element, candidate, binding, at, options)),
    );
    if (!nearest) {
      result.push({ path: at, expected: shown(element), got: NOTHING });
      continue;
    }
    result.push(...nearest.mismatches);
    left.splice(nearest.index, 1);
  }
  return [...result, ...left.map((element) => ({ path, expected: 'no such element', got: shown(element) }))];
}

function nearestOf(candidates: readonly Json[], compare: (candidate: Json) => readonly Mismatch[]) {
  let nearest: { readonly index: number; readonly mismatches: readonly Mismatch[] } | undefined;
  for (const [index, candidate] of candidates.entries()) {
    const mismatches = compare(candidate);
    if (!nearest || mismatches.length < nearest.mismatches.length) nearest = { index, mismatches };
  }
  return nearest;
}

function matchObject(
  expected: JsonObject,
  got: Json,
  binding: Binding,
  path: string,
  options: Options,
): readonly Mismatch[] {
  if (!isObject(got)) return [{ path, expected: shown(expected), got: shown(got) }];
  const result: Mismatch[] = [];
  for (const [key, value] of Object.entries(expected)) {
    const at = below(path, key);
    const received = member(got, key);
    if (received !== undefined) result.push(...match(value, received, binding, at, options));
    else if (!isLoose(at, options)) result.push({ path: at, expected: shown(value), got: NOTHING });
  }
  for (const [key, value] of Object.entries(got)) {
    const at = below(path, key);
    if (!Object.hasOwn(expected, key) && !isLoose(at, options)) {
      result.push({ path: at, expected: NOTHING, got: shown(value) });
    }
  }
  return [...result, ...compareWithOwnUpid(got, path, options)];
}

/** Process id and times of a task are free, but they stand in its UPID as well and must agree with it. */
function compareWithOwnUpid(got: JsonObject, path: string, options: Options): readonly Mismatch[] {
  const upid = member(got, 'upid');
  const parts = typeof upid === 'string' ? /^UPID:[^:]+:([^:]+):([^:]+):([^:]+):/.exec(upid) : null;
  if (!parts) return [];
  return (['pid', 'pstart', 'starttime'] as const).flatMap((key, index) => {
    const value = member(got, key);
    const stated = Number.parseInt(parts[index + 1] ?? '', 16);
    if (value === undefined || Number(value) === stated || isLoose(below(path, key), options)) return [];
    return [{ path: below(path, key), expected: `${stated} as in its UPID`, got: shown(value) }];
  });
}

function isLoose(path: string, options: Options): boolean {
  return options.loosePaths.some((loose) =>
    loose.endsWith('*') ? path.startsWith(loose.slice(0, -1)) : path === loose,
  );
}

function compareUpidShape(expected: UpidShape, got: Json | undefined): readonly Mismatch[] {
  const parts = typeof got === 'string' ? /^UPID:([^:]+):(?:[^:]+:){3}([^:]+):([^:]*):([^:]+):$/.exec(got) : null;
  if (!parts) return [{ path: 'body.data', expected: 'a UPID', got: shown(got ?? null) }];
  const [, node, type, id, user] = parts;
  const received = { node, type, id, user };
  return (['node', 'type', 'id', 'user'] as const)
    .filter((key) => received[key] !== expected[key])
    .map((key) => ({ path: `upid.${key}`, expected: expected[key], got: received[key] ?? NOTHING }));
}

const NOTHING = 'nothing';
const below = (path: string, key: string) => (path === '' ? key : `${path}.${key}`);
const shown = (value: Json) => JSON.stringify(value);
