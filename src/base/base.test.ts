import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from './diagnostics.ts';
import { canceled, ProxwrightError, toDiagnostic } from './errors.ts';
import { atLevel, type LogLevel } from './log.ts';
import { randomUuid, seededRandom, shuffled, systemRandom } from './random.ts';
import { redact, Secret } from './secret.ts';

describe('Secret', () => {
  const secret = new Secret('hunter2/+"');

  it('cannot be printed by any usual conversion', () => {
    const texts = [String(secret), `${secret}`, JSON.stringify({ secret }), inspect(secret), inspect({ secret })];
    for (const text of texts) expect(text).not.toContain('hunter2');
    expect(Object.keys(secret)).toEqual([]);
  });

  it('is removed from text in every encoding', () => {
    const text = `a=${secret.reveal()} b=${encodeURIComponent(secret.reveal())} c=${JSON.stringify(secret.reveal())}`;
    expect(redact(text, [secret])).not.toContain('hunter2');
  });
});

describe('errors', () => {
  it('show what happened, where, why and what to do', () => {
    const error = new ProxwrightError({
      code: 'NOT_FOUND',
      detail: 'The server says: "no such VM".',
      where: { address: 'vm.web', step: 'clone', request: 'POST /nodes/pve1/qemu/9000/clone' },
      hint: 'Check the id.',
    });
    expect(formatDiagnostic(error.diagnostic)).toBe(
      [
        'error: Not found [NOT_FOUND]',
        '  at vm.web, step clone — POST /nodes/pve1/qemu/9000/clone',
        '  The server says: "no such VM".',
        '  Check the id.',
      ].join('\n'),
    );
  });

  it('keep the diagnostic of their cause', () => {
    const below = new ProxwrightError({ code: 'INVARIANT', detail: 'x' });
    const above = new ProxwrightError({ code: 'SERVER_FAULT', detail: 'y', cause: below });
    expect(above.diagnostic.cause).toEqual(below.diagnostic);
    expect(above.cause).toBe(below);
  });

  it('turn anything thrown into a diagnostic', () => {
    expect(toDiagnostic(new TypeError('boom')).code).toBe('INVARIANT');
    expect(toDiagnostic('boom').detail).toContain('boom');
    expect(toDiagnostic(canceled()).code).toBe('CANCELED');
    expect(canceled()).toBeInstanceOf(ProxwrightError);
  });
});

describe('Random', () => {
  const draws = (random: { next(): number }) => Array.from({ length: 5 }, () => random.next());

  it('gives the same numbers for the same seed, and others for another seed', () => {
    expect(draws(seededRandom(7))).toEqual(draws(seededRandom(7)));
    expect(draws(seededRandom(7))).not.toEqual(draws(seededRandom(8)));
  });

  it('gives a fork its own stream, whatever was drawn from the parent before', () => {
    const parent = seededRandom(7);
    const early = draws(parent.fork('tasks'));
    parent.next();
    expect(draws(parent.fork('tasks'))).toEqual(early);
    expect(draws(parent.fork('world'))).not.toEqual(early);
  });

  it('makes valid UUIDs, and keeps every element when shuffling', () => {
    expect(randomUuid(systemRandom)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(shuffled(seededRandom(1), [1, 2, 3, 4]).sort()).toEqual([1, 2, 3, 4]);
  });
});

describe('atLevel', () => {
  it('passes messages of at least the given level', () => {
    const seen: LogLevel[] = [];
    const log = atLevel('warn', { log: (level) => seen.push(level) });
    for (const level of ['error', 'warn', 'info', 'debug'] as const) log.log(level, 'x');
    expect(seen).toEqual(['error', 'warn']);
  });
});
