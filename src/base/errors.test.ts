import { describe, expect, it } from 'vitest';
import { BusyError, Canceled } from './errors.ts';

describe('an error that is seen from further out', () => {
  it('is a new one of its class that says where, and the old one stays as it is', () => {
    const cause = new Error('socket');
    const inner = new BusyError({
      code: 'CONFIG_LOCKED',
      detail: 'got timeout',
      hint: 'Try again.',
      where: { request: 'PUT /config' },
      cause,
    });
    const outer = inner.locatedAt({ address: 'vm.web', step: 'configure' });
    expect(outer).toBeInstanceOf(BusyError);
    expect(outer).not.toBe(inner);
    expect(outer.diagnostic).toEqual({
      ...inner.diagnostic,
      where: { request: 'PUT /config', address: 'vm.web', step: 'configure' },
    });
    expect(outer.message).toContain('vm.web, step configure');
    expect({ code: outer.code, cause: outer.cause, stack: outer.stack }).toEqual({
      code: 'CONFIG_LOCKED',
      cause,
      stack: inner.stack,
    });
    expect(inner.diagnostic.where).toEqual({ request: 'PUT /config' });
  });

  it('is still what it was where somebody stopped it', () => {
    const canceled = new Canceled('Stopped on request.');
    expect(canceled.locatedAt()).toBe(canceled);
  });
});
