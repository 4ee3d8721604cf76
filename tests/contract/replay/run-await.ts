/** Steps that wait for tasks: their status is polled until they stop, then their log is read. */
import { compareOutcome, type Mismatch } from './compare.ts';
import { type Replay, whole } from './exchange.ts';
import { type AwaitGroupStep, type AwaitStep, isList, member, type TaskOutcome } from './types.ts';

const POLL_MS = 300;
const PATIENCE_MS = 300_000;

export async function replayAwait(step: AwaitStep, replay: Replay): Promise<readonly Mismatch[]> {
  const upid = replay.binding.get(`upid:${step.task}`);
  if (upid === undefined) return step.optional ? [] : [whole(`a UPID from step ${step.task}`, 'none')];
  return compareOutcome(step, await taskOutcome(upid, step.auth, replay), replay.binding);
}

/** Several tasks whose outcomes are a multiset: which of them got which is free. */
export async function replayAwaitGroup(step: AwaitGroupStep, replay: Replay): Promise<readonly Mismatch[]> {
  const got: (string | undefined)[] = [];
  for (const task of step.tasks) {
    const upid = replay.binding.get(`upid:${task}`);
    if (upid !== undefined) got.push(exitStatus(await taskOutcome(upid, step.auth, replay)));
  }
  const recorded = step.responses.map(exitStatus);
  const result = step.expectOk === undefined ? [] : compareSuccesses(step.expectOk, got, recorded);
  if (step.loose) return result;
  const left = [...got];
  for (const expected of recorded) {
    const partner = left.indexOf(expected);
    if (partner >= 0) left.splice(partner, 1);
    else result.push(whole(`a task ending with ${String(expected)}`, `left: ${left.map(String).join(', ') || 'none'}`));
  }
  return result;
}

function compareSuccesses(
  expectOk: number,
  got: readonly (string | undefined)[],
  recorded: readonly (string | undefined)[],
): Mismatch[] {
  const successes = got.filter((outcome) => outcome === 'OK').length;
  const result = successes === expectOk ? [] : [whole(`${expectOk} tasks ending OK`, successes)];
  const unknown = got.filter((outcome) => !recorded.includes(outcome));
  return [...result, ...unknown.map((outcome) => whole('one of the recorded outcomes', outcome))];
}

async function taskOutcome(upid: string, auth: string | undefined, replay: Replay): Promise<TaskOutcome> {
  const { clock, session } = replay;
  const path = `/nodes/${upid.split(':')[1] ?? ''}/tasks/${upid}`;
  const who = auth === undefined ? {} : { auth };
  const deadline = clock.now() + PATIENCE_MS;
  for (;;) {
    const answer = await session.send({ ...who, method: 'GET', path: `${path}/status` });
    const stopped = member(member(answer.body, 'data'), 'status') === 'stopped';
    if (answer.status === 200 && !stopped && clock.now() <= deadline) {
      await clock.sleep(POLL_MS);
      continue;
    }
    const log = await session.send({ ...who, method: 'GET', path: `${path}/log`, params: { limit: 0 } });
    return { status: answer.body, log: logLines(member(log.body, 'data') ?? null) };
  }
}

function logLines(data: TaskOutcome['status']): readonly string[] {
  if (!isList(data)) return [];
  return data.map((line) => {
    const text = member(line, 't');
    return typeof text === 'string' ? text : JSON.stringify(line);
  });
}

function exitStatus(outcome: TaskOutcome): string | undefined {
  const status = member(member(outcome.status, 'data'), 'exitstatus');
  return typeof status === 'string' ? status : undefined;
}
