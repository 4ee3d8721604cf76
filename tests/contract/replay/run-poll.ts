/** A request repeated until it gives the last recorded answer; on the way only recorded answers may appear. */
import { compareAnswer, type Mismatch } from './compare.ts';
import { type Replay, sendFilled, shownAnswer, whole } from './exchange.ts';
import type { Answer, PollStep, RecordedAnswer } from './types.ts';

export async function replayPoll(step: PollStep, replay: Replay): Promise<readonly Mismatch[]> {
  const { clock } = replay;
  const recorded = step.samples.map((sample) => sample.response);
  const [first] = recorded;
  const final = recorded.at(-1);
  if (!first || !final) return [whole('a poll with samples', 'none')];
  const onTheWay = [...recorded.slice(0, -1), ...(step.allowed ?? [])];
  const strangers = new Set<string>();
  const early: Mismatch[] = [];
  const deadline = clock.now() + step.timeout_ms;
  for (let count = 0; ; count++) {
    const answer = await sendFilled(step.request, replay);
    if (replay.exactTime && count === 0 && recorded.length > 1)
      early.push(...compareFirst(step, first, answer, replay));
    const allowed = step.allowedFinal ?? [];
    const mismatches = compareAnswer({ ...step.request, response: final, allowed }, answer, replay.binding);
    if (mismatches.length === 0) return [...early, ...reported(strangers)];
    if (!step.loose && !onTheWay.some((known) => fits(step, known, answer, replay))) strangers.add(shownAnswer(answer));
    if (clock.now() > deadline) {
      const late = mismatches.map((mismatch) => ({
        ...mismatch,
        path: `after ${step.timeout_ms} ms ${mismatch.path}`,
      }));
      return [...late, ...early, ...reported(strangers)];
    }
    await clock.sleep(step.every_ms);
  }
}

function compareFirst(step: PollStep, first: RecordedAnswer, answer: Answer, replay: Replay): readonly Mismatch[] {
  const mismatches = replay.binding.withoutTrace(() =>
    compareAnswer({ ...step.request, response: first }, answer, replay.binding),
  );
  return mismatches.map((mismatch) => ({ ...mismatch, path: `first answer ${mismatch.path}` }));
}

function fits(step: PollStep, known: RecordedAnswer, answer: Answer, replay: Replay): boolean {
  return compareAnswer({ ...step.request, response: known }, answer, replay.binding).length === 0;
}

function reported(strangers: ReadonlySet<string>): readonly Mismatch[] {
  return [...strangers].map((answer) => whole('on the way only recorded answers', answer));
}
