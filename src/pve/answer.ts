/** Takes answers apart: the `data` inside, its shape, or the error that the answer stands for. */
import type { ZodType } from 'zod';
import { ProxwrightError } from '../base/errors.ts';
import type { WireResponse } from '../base/transport.ts';
import { badAnswer, errorFromResponse, LOOK_FIRST, type RequestContext, whereOf } from './errors/failures.ts';

export interface Answer {
  readonly data: unknown;
  /** Number of entries before paging, where the server counts them. */
  readonly total: number | undefined;
  readonly context: RequestContext;
}

export type Reading =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'error'; readonly error: ProxwrightError };

export function readAnswer(context: RequestContext, response: WireResponse): Reading {
  if (response.status < 200 || response.status >= 300) {
    return { kind: 'error', error: errorFromResponse(context, response) };
  }
  const envelope = envelopeOf(response);
  if (typeof envelope !== 'string') return { kind: 'answer', answer: { ...envelope, context } };
  return { kind: 'error', error: unreadableAnswer(context, envelope) };
}

/** A changing request was carried out, or at least begun, when an answer to it arrives damaged. */
function unreadableAnswer(context: RequestContext, what: string): ProxwrightError {
  const error = badAnswer(context, what);
  if (!context.changes) return error;
  return new ProxwrightError({
    code: 'OUTCOME_UNKNOWN',
    detail: `${error.diagnostic.detail} The request was probably carried out.`,
    where: whereOf(context),
    hint: LOOK_FIRST,
    cause: error,
  });
}

/**
 * An answer that many share is read once: the very same response is the same envelope, and the same data the same shape,
 * because a request — path and parameters — belongs to one handle. Without this, a hundred readers of one long list would
 * each read all of it.
 */
const envelopes = new WeakMap<WireResponse, ReturnType<typeof parseEnvelope>>();
const shapes = new WeakMap<object, unknown>();

function envelopeOf(response: WireResponse): ReturnType<typeof parseEnvelope> {
  const envelope = envelopes.get(response) ?? parseEnvelope(response.body);
  envelopes.set(response, envelope);
  return envelope;
}

function parseEnvelope(body: string): { data: unknown; total: number | undefined } | string {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    if (/^\s*</.test(body)) return 'it is a web page.';
    return body.trim() === '' ? 'it is empty.' : `it is not JSON, or was cut off (${body.length} characters).`;
  }
  if (typeof value !== 'object' || value === null || !('data' in value)) return 'it has no "data".';
  const total = 'total' in value ? Number(value.total) : undefined;
  return { data: value.data, total: Number.isFinite(total) ? total : undefined };
}

/** The data in the shape that we rely on. Unknown keys stay; a wrong shape is an error that says what and where. */
export function decodeAnswer<T>(answer: Answer, schema: ZodType<T>): T {
  const { data } = answer;
  const isShared = typeof data === 'object' && data !== null;
  if (isShared && shapes.has(data)) return shapes.get(data) as T; // what this very shape made of it
  const result = schema.safeParse(data);
  if (result.success) {
    if (isShared) shapes.set(data, result.data);
    return result.data;
  }
  const issues = result.error.issues
    .slice(0, 3)
    .map((issue) => `${['data', ...issue.path].join('.')}: ${issue.message}`);
  throw badAnswer(answer.context, `${issues.join('; ')}.`);
}
