/** Reads responses: the `data` inside and its shape, or the error that the response means. */
import type { ZodType } from 'zod';
import { ProxwrightError } from '../base/errors.ts';
import type { WireResponse } from '../base/transport.ts';
import { badAnswer, errorFromResponse, LOOK_FIRST, type RequestContext, whereOf } from './errors/failures.ts';

export interface Answer {
  readonly data: unknown;
  /** The number of entries before paging, if the server counts them. */
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

/** If the response to a change is damaged, the change was executed or at least started. */
function unreadableAnswer(context: RequestContext, what: string): ProxwrightError {
  const error = badAnswer(context, what);
  if (!context.changes) return error;
  return new ProxwrightError({
    code: 'OUTCOME_UNKNOWN',
    detail: `${error.diagnostic.detail} The request was probably executed.`,
    where: whereOf(context),
    hint: LOOK_FIRST,
    cause: error,
  });
}

/**
 * A response that many callers share is decoded once per schema. Otherwise a hundred readers of one long list would each
 * decode all of it. For this reason the schemas of lists are constants: a new schema would decode again.
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

/** The data, checked against a schema. Unknown keys stay; an error names the path and the problem. */
export function decodeAnswer<T>(answer: Answer, schema: ZodType<T>): T {
  const { data } = answer;
  const known = typeof data === 'object' && data !== null ? decodedFrom(data) : undefined;
  if (known?.has(schema)) return known.get(schema) as T; // the cached result of this schema for this data
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
