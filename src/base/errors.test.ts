import { describe, expect, it } from 'vitest';
import { canceled, ERROR_CODES, hasCode, isCanceled, isFamily, ProxwrightError, toDiagnostic } from './errors.ts';
import { advice, setting } from './hint.ts';

const inner = new ProxwrightError({
  code: 'NOT_FOUND',
  subject: 'guest',
  outcome: 'unknown',
  detail: 'VM 101 is not there.',
  hint: advice`Write ${setting('vmid', 102)}.`,
  where: { request: 'PUT /config' },
  facts: { serverSaid: 'no such VM' },
  cause: new Error('socket'),
});

describe('an error with more context', () => {
  it('is a new value that keeps every field', () => {
    const outer = inner.with({ where: { address: 'vm.web', step: 'configure' } });
    expect(outer).not.toBe(inner);
    expect(outer).toMatchObject({ code: 'NOT_FOUND', family: 'api', subject: 'guest', outcome: 'unknown' });
    expect({ hint: outer.hint, cause: outer.cause, stack: outer.stack }).toEqual({
      hint: inner.hint,
      cause: inner.cause,
      stack: inner.stack,
    });
    expect(outer.diagnostic.facts).toEqual({ serverSaid: 'no such VM' });
    expect(outer.diagnostic).toEqual({
      ...inner.diagnostic,
      where: { request: 'PUT /config', address: 'vm.web', step: 'configure' },
    });
    expect(outer.message).toContain('vm.web, step configure');
    expect(inner.diagnostic.where).toEqual({ request: 'PUT /config' });
  });

  it('adds to the detail, or replaces it', () => {
    expect(inner.with({ addedDetail: 'It was there.' }).diagnostic.detail).toBe('VM 101 is not there.\nIt was there.');
    expect(inner.with({ detail: 'Gone.' }).diagnostic.detail).toBe('Gone.');
    expect(inner.with({ hint: 'Look.' }).hint).toEqual({ text: 'Look.' });
  });

  it('stays canceled', () => {
    expect(isCanceled(canceled().with({ where: { address: 'vm.web' } }))).toBe(true);
  });
});

describe('the kind of an error', () => {
  it('is queried by code or family', () => {
    expect(hasCode(inner, 'IN_USE', 'NOT_FOUND')).toBe(true);
    expect(hasCode(inner, 'IN_USE')).toBe(false);
    expect(isFamily(inner, 'busy', 'api')).toBe(true);
    expect(isFamily(inner, 'busy')).toBe(false);
    for (const other of [new Error('NOT_FOUND'), { code: 'NOT_FOUND', family: 'api' }, undefined]) {
      expect(hasCode(other, 'NOT_FOUND') || isFamily(other, 'api')).toBe(false);
    }
  });

  it.each([
    ['NOT_EXECUTED', 'not-executed'],
    ['UNREACHABLE', 'not-executed'],
    ['CERT_UNTRUSTED', 'not-executed'],
    ['REQUEST_TIMEOUT', 'not-executed'],
    ['OUTCOME_UNKNOWN', 'unknown'],
    ['GUEST_LOCKED', 'known'],
  ] as const)('%s means that the outcome is %s', (code, outcome) => {
    expect(new ProxwrightError({ code, detail: 'x' }).outcome).toBe(outcome);
  });

  it('has a summary without a full stop for each code', () => {
    for (const code of ERROR_CODES) {
      expect(new ProxwrightError({ code, detail: 'x' }).diagnostic.summary, code).toMatch(/^[A-Z].*[^.]$/);
    }
  });
});

describe('a value that was thrown by something else', () => {
  it('becomes one diagnostic about a bug', () => {
    expect(toDiagnostic(new Error('x is not a function'))).toMatchObject({
      code: 'INVARIANT',
      detail: 'x is not a function. This is a defect of Proxwright, not of your setup.',
    });
    expect(toDiagnostic(inner)).toBe(inner.diagnostic);
  });
});
