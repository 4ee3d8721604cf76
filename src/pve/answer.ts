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
 * An answer that many callers share is decoded once per schema. Without this, a hundred readers of one long list would each
 * decode all of it. Schemas of lists are constants for this reason: a new schema would decode again.
 */
const envelopes = new WeakMap<WireResponse, ReturnType<typeof parseEnvelope>>();
const decoded = new WeakMap<object, WeakMap<ZodType, unknown>>();

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
  const known = typeof data === 'object' && data !== null ? decodedFrom(data) : undefined;
  if (known?.has(schema)) return known.get(schema) as T; // what this very schema made of this very data
  const result = schema.safeParse(data);
  if (result.success) {
    known?.set(schema, result.data);
    return result.data;
  }
  const issues = result.error.issues
    .slice(0, 3)
    .map((issue) => `${['data', ...issue.path].join('.')}: ${issue.message}`);
  throw badAnswer(answer.context, `${issues.join('; ')}.`);
}

function decodedFrom(data: object): WeakMap<ZodType, unknown> {
  const known = decoded.get(data) ?? new WeakMap<ZodType, unknown>();
  decoded.set(data, known);
  return known;
}
