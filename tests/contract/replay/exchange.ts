/** What the steps of one replay share, and one exchange within it. */
import type { Clock } from '../../../src/base/clock.ts';
import type { Binding } from './binding.ts';
import type { Mismatch } from './compare.ts';
import type { Session } from './session.ts';
import { type Answer, member, type RequestParts } from './types.ts';

export interface Replay {
  readonly session: Session;
  readonly clock: Clock;
  readonly binding: Binding;
  readonly exactTime: boolean;
}

/** Sends a request with its placeholders filled in. */
export function sendFilled(parts: RequestParts, replay: Replay): Promise<Answer> {
  const { auth, method, path, params, encoding, raw, contentType, parts: pieces, csrf, authStyle, chunked } = parts;
  const { binding } = replay;
  return replay.session.send({
    method,
    path: binding.fill(path),
    ...(auth !== undefined && { auth }),
    ...(params && { params: binding.fill(params) }),
    ...(encoding && { encoding }),
    ...(raw !== undefined && { raw: binding.fill(raw) }),
    ...(contentType !== undefined && { contentType }),
    ...(pieces && {
      parts: pieces.map((part) => (part.value === undefined ? part : { ...part, value: binding.fill(part.value) })),
    }),
    ...(csrf && { csrf }),
    ...(authStyle && { authStyle }),
    ...(chunked !== undefined && { chunked }),
  });
}

/** The UPID that an answer returned, if it did. */
export function upidIn(answer: Answer): string | undefined {
  const data = member(answer.body, 'data');
  return typeof data === 'string' && data.startsWith('UPID:') ? data : undefined;
}

/** A mismatch of the step as a whole. */
export function whole(expected: string, got: unknown): Mismatch {
  return { path: '', expected, got: got instanceof Error ? got.message : String(got) };
}

export const shownAnswer = ({ status, reason, body }: Answer): string => JSON.stringify({ status, reason, body });
