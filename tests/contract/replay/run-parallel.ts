/** Requests sent at the same moment, and the three ways in which their answers may be distributed among them. */
import { compareAnswer, type Mismatch } from './compare.ts';
import { type Replay, sendFilled, shownAnswer, upidIn, whole } from './exchange.ts';
import type { Answer, ParallelStep, RequestStep } from './types.ts';

interface Exchange {
  readonly request: RequestStep;
  readonly answer: Answer;
}

export async function replayParallel(step: ParallelStep, replay: Replay): Promise<readonly Mismatch[]> {
  const exchanges = await Promise.all(
    step.requests.map(async (request) => ({ request, answer: await sendFilled(request, replay) })),
  );
  if (!step.orderFree) return exchanges.flatMap((exchange) => compareOwn(exchange, replay));
  if (step.anyOf) return compareAnyOf(exchanges, replay);
  const mismatches = compareMultiset(exchanges, replay);
  return step.loose ? [] : mismatches;
}

/** Each request against its own recorded answer. */
function compareOwn({ request, answer }: Exchange, replay: Replay): readonly Mismatch[] {
  bindUpid(request, answer, replay);
  return labelled(request, compareAnswer(request, answer, replay.binding));
}

/** Every answer is one of the recorded ones, in any number. */
function compareAnyOf(exchanges: readonly Exchange[], replay: Replay): readonly Mismatch[] {
  const strangers = exchanges.filter(
    ({ answer }) =>
      !exchanges.some(({ request }) =>
        replay.binding.withoutTrace(() => {
          bindUpid(request, answer, replay);
          return compareAnswer(request, answer, replay.binding).length === 0;
        }),
      ),
  );
  for (const { request, answer } of exchanges) bindUpid(request, answer, replay);
  return strangers.flatMap(({ request, answer }) =>
    labelled(request, [whole('one of the recorded answers', shownAnswer(answer))]),
  );
}

/** The answers are the recorded ones, whichever request got which. */
function compareMultiset(exchanges: readonly Exchange[], replay: Replay): readonly Mismatch[] {
  const left = exchanges.map(({ answer }) => answer);
  const result: Mismatch[] = [];
  for (const { request } of exchanges) {
    let first: readonly Mismatch[] | undefined;
    const partner = left.findIndex((answer) => {
      const mismatches = replay.binding.tentatively(() => {
        bindUpid(request, answer, replay);
        return compareAnswer(request, answer, replay.binding);
      });
      first ??= mismatches;
      return mismatches.length === 0;
    });
    if (partner >= 0) left.splice(partner, 1);
    else result.push(...labelled(request, first ?? [whole('one more answer', 'none')]));
  }
  return result;
}

function bindUpid(request: RequestStep, answer: Answer, replay: Replay): void {
  const upid = upidIn(answer);
  if (upid !== undefined) replay.binding.set(`upid:${request.id}`, upid);
}

function labelled(request: RequestStep, mismatches: readonly Mismatch[]): readonly Mismatch[] {
  return mismatches.map((mismatch) => ({ ...mismatch, path: `${request.id} ${mismatch.path}`.trim() }));
}
