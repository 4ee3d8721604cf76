/**
 * Every request of the recorded scenarios goes through decoding and validation: requests that a real server refused for
 * their parameters are refused with the same message, and accepted ones pass.
 */
import { describe, expect, it } from 'vitest';
import { decodeRequest } from '../http/request.ts';
import { findEndpoint, type RecordedRequest, recordedRequests } from './testing/recorded-requests.ts';
import { type Validated, validateParams } from './validate.ts';

const SCHEMA_COMPLAINT =
  /^(property is |value '.*' does not have a value|value (must|may|does not match)|type check \(|invalid format - |missing property required by )/s;

describe('recorded requests', () => {
  const recorded = recordedRequests();
  const refused = recorded.filter((one) => complaintsOf(one).some((text) => SCHEMA_COMPLAINT.test(text)));
  const accepted = recorded.filter(
    (one) => (one.answer.status === 200 || complaintsOf(one).length > 0) && !refused.includes(one),
  );

  it('are numerous enough to make the tables below meaningful', () => {
    expect(refused.length).toBeGreaterThan(100);
    expect(accepted.filter((one) => validate(one) !== undefined).length).toBeGreaterThan(1000);
  });

  it.each(refused.map((one) => [one.title, one] as const))('refuses like the real server: %s', (_, one) => {
    const result = validate(one);
    expect(result?.ok).toBe(false);
    if (result?.ok !== false) return;
    expect(withSortedLines(result.errors)).toEqual(withSortedLines(errorsOf(one)));
  });

  it('accepts all parameters that the real server accepted', () => {
    const complaints = accepted.flatMap((one) => {
      const result = validate(one);
      return result === undefined || result.ok ? [] : [[one.title, result.errors]];
    });
    expect(complaints).toEqual([]);
  });
});

/** Undefined if the facts do not have the endpoint. */
function validate(one: RecordedRequest): Validated | undefined {
  const decoded = decodeRequest(one.request);
  if (decoded.kind !== 'call') throw new Error(`${one.title} was not decoded: ${decoded.kind}`);
  const endpoint = findEndpoint(decoded.target.method, decoded.target.segments);
  return endpoint && validateParams(endpoint.facts, { ...endpoint.pathParams, ...decoded.params });
}

function errorsOf(one: RecordedRequest): Record<string, string> {
  const { body } = one.answer;
  if (one.answer.status !== 400 || typeof body !== 'object' || body === null) return {};
  return (body as { errors?: Record<string, string> }).errors ?? {};
}

function complaintsOf(one: RecordedRequest): string[] {
  return Object.values(errorsOf(one));
}

/** The server reports the keys of a property string in random order. */
function withSortedLines(errors: Readonly<Record<string, string>>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(errors).map(([key, text]) => [key, text.split('\n').sort()]));
}
