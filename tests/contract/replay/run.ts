/** Replays one scenario step by step over a `Transport`, with time taken from a `Clock`, and reports every mismatch. */

import type { Clock } from '../../../src/base/clock.ts';
import { assertNever } from '../../../src/base/errors.ts';
import type { Transport } from '../../../src/base/transport.ts';
import { Binding } from './binding.ts';
import { compareAnswer, type Mismatch } from './compare.ts';
import { type Replay, sendFilled, upidIn, whole } from './exchange.ts';
import { replayAwait, replayAwaitGroup } from './run-await.ts';
import { replayParallel } from './run-parallel.ts';
import { replayPoll } from './run-poll.ts';
import { type Credentials, Session } from './session.ts';
import { type Json, member, type RequestParts, type RequestStep, type Scenario, type Step } from './types.ts';

interface ReplayOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly credentials: Credentials;
  /**
   * The clock waits for the replay: the first answer of every poll must be like the first sample, and times are as far
   * apart as recorded. On a clock that runs on its own, a busy machine makes both late.
   */
  readonly exactTime: boolean;
}

export interface StepMismatch {
  readonly step: string;
  /** What the step does, in one line. */
  readonly request: string;
  readonly mismatches: readonly Mismatch[];
}

export interface ReplayResult {
  readonly scenario: string;
  readonly ok: number;
  readonly total: number;
  readonly mismatches: readonly StepMismatch[];
}

export async function replayScenario(scenario: Scenario, options: ReplayOptions): Promise<ReplayResult> {
  const { clock, credentials } = options;
  const replay: Replay = {
    session: new Session(options.transport, credentials),
    clock,
    binding: new Binding(() => clock.now(), { exactTime: options.exactTime }),
    exactTime: options.exactTime,
  };
  replay.binding.set('password', credentials.login.password);
  const mismatches: StepMismatch[] = [];
  for (const step of scenario.steps) {
    const found = await replayStep(step, replay).catch((error: unknown) => [whole('the step to be replayed', error)]);
    if (found.length > 0) mismatches.push({ step: step.id, request: describeStep(step), mismatches: found });
  }
  const total = scenario.steps.length;
  return { scenario: scenario.scenario, ok: total - mismatches.length, total, mismatches };
}

function describeStep(step: Step): string {
  switch (step.kind) {
    case 'request':
      return describeRequest(step);
    case 'await':
      return `await ${step.task}`;
    case 'sleep':
      return `sleep ${step.ms} ms`;
    case 'parallel':
      return `parallel ${step.requests.map(describeRequest).join(' | ')}`;
    case 'awaitgroup':
      return `await ${step.tasks.join(', ')}`;
    case 'poll':
      return `poll ${describeRequest(step.request)}`;
    default:
      return assertNever(step);
  }
}

async function replayStep(step: Step, replay: Replay): Promise<readonly Mismatch[]> {
  switch (step.kind) {
    case 'request':
      return replayRequest(step, replay);
    case 'await':
      return replayAwait(step, replay);
    case 'sleep':
      await replay.clock.sleep(step.ms);
      return [];
    case 'parallel':
      return replayParallel(step, replay);
    case 'awaitgroup':
      return replayAwaitGroup(step, replay);
    case 'poll':
      return replayPoll(step, replay);
    default:
      return assertNever(step);
  }
}

async function replayRequest(step: RequestStep, replay: Replay): Promise<readonly Mismatch[]> {
  const answer = await sendFilled(step, replay);
  const data = member(answer.body, 'data');
  const secret = member(data, 'value');
  if (step.token !== undefined && secret !== undefined) {
    replay.session.addToken(step.token, `${text(member(data, 'full-tokenid'))}=${text(secret)}`);
  }
  const upid = upidIn(answer);
  if (upid !== undefined) replay.binding.set(`upid:${step.id}`, upid);
  return compareAnswer(step, answer, replay.binding);
}

function describeRequest(parts: RequestParts): string {
  const auth = parts.auth === undefined || parts.auth === 'root' ? '' : `${parts.auth} `;
  const params = parts.params ? JSON.stringify(parts.params) : '';
  const shown = params.length > LONGEST_PARAMS ? `${params.slice(0, LONGEST_PARAMS)}…` : params;
  return `${auth}${parts.method} ${parts.path} ${shown}`.trimEnd();
}

const LONGEST_PARAMS = 100;

const text = (value: Json | undefined) => (typeof value === 'string' ? value : '');
