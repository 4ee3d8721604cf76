import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { WireResponse } from '../base/transport.ts';
import { decodeAnswer, readAnswer } from './answer.ts';

const CONTEXT = { changes: false, request: 'GET /nodes', endpoint: 'here', principal: 'me', secrets: [] };

function answerTo(response: WireResponse) {
  const reading = readAnswer(CONTEXT, response);
  if (reading.kind !== 'answer') throw reading.error;
  return reading.answer;
}

function response(body: string): WireResponse {
  return { status: 200, reason: 'OK', headers: {}, body };
}

/** A new schema each time, as the handles build them, which counts the entries it looks at. */
function counting() {
  const seen: string[] = [];
  const entry = z.object({ node: z.string() }).transform((each) => {
    seen.push(each.node);
    return each;
  });
  return { seen, shape: () => z.array(entry) };
}

describe('an answer', () => {
  it('that many share is read and shaped once', () => {
    const { seen, shape } = counting();
    const shared = response('{"data":[{"node":"a"},{"node":"b"}]}');
    const first = decodeAnswer(answerTo(shared), shape());
    expect(decodeAnswer(answerTo(shared), shape())).toBe(first);
    expect(seen).toEqual(['a', 'b']);
  });

  it('of its own is shaped on its own, also where it says the same', () => {
    const { seen, shape } = counting();
    const same = '{"data":[{"node":"a"}]}';
    expect(decodeAnswer(answerTo(response(same)), shape())).toEqual(decodeAnswer(answerTo(response(same)), shape()));
    expect(seen).toEqual(['a', 'a']);
  });

  it('of a wrong shape is refused every time', () => {
    const shared = response('{"data":[{"node":1}]}');
    for (const _ of [1, 2]) {
      expect(() => decodeAnswer(answerTo(shared), counting().shape())).toThrow(/data\.0\.node/);
    }
  });
});
