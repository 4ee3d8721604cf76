/** Log lines in the form that the host reads, and only those that it shows. */
import { describe, expect, it } from 'vitest';
import type { LogLevel } from '../../base/log.ts';
import { KnownSecrets, Secret } from '../../base/secret.ts';
import { createHclog, logLevelOf } from './hclog.ts';

function logger(level: LogLevel | undefined, secrets: readonly Secret[] = []) {
  const lines: string[] = [];
  const clock = { now: () => Date.UTC(2025, 0, 2, 3, 4, 5, 678), ticks: () => 0, sleep: async () => {} };
  return {
    lines,
    log: createHclog({ write: (text) => lines.push(text), clock, level, secrets: new KnownSecrets(secrets) }),
  };
}

describe('a line', () => {
  it('is one JSON object with six digits after the point', () => {
    const { lines, log } = logger('debug');
    log.log('warn', 'two\nlines', { id: 'w-1', count: 2n, '@level': 'fake', nothing: undefined });
    expect(lines).toEqual([
      '{"@level":"warn","@message":"two\\nlines","@timestamp":"2025-01-02T03:04:05.678000Z","@module":"proxwright","id":"w-1","count":"2"}\n',
    ]);
  });

  it('never holds a secret, however it is encoded', () => {
    const secret = new Secret('a"b c');
    const { lines, log } = logger('debug', [secret]);
    log.log('info', 'with a"b c', { secret, url: 'x?p=a%22b%20c', error: new Error('bad a"b c') });
    expect(lines.join()).not.toMatch(/b c|b%20c/);
    expect(lines.join()).toContain('•••');
  });

  it('is shortened before the host would cut it', () => {
    const { lines, log } = logger('debug');
    log.log('info', 'large', { blob: 'x'.repeat(100_000) });
    expect(JSON.parse(lines.join())).toMatchObject({ '@message': 'large (the rest is too long to be logged)' });
  });
});

describe('the level', () => {
  it.each([
    [{}, undefined],
    [{ TF_LOG: '' }, undefined],
    [{ TF_LOG: 'OFF' }, undefined],
    [{ TF_LOG: 'INFO' }, 'info'],
    [{ TF_LOG: 'TRACE' }, 'debug'],
    [{ TF_LOG: 'JSON' }, 'debug'],
    [{ TF_LOG: 'TRACE', TF_LOG_PROVIDER: 'ERROR' }, 'error'],
    [{ TF_LOG: 'DEBUG', PROXMOX_LOG_LEVEL: 'warn' }, 'warn'],
    [{ TF_LOG: 'WARN', PROXMOX_LOG_LEVEL: 'debug' }, 'warn'],
    [{ TF_LOG: 'DEBUG', PROXMOX_LOG_LEVEL: 'nonsense' }, 'debug'],
    [{ TF_LOG: 'OFF', PROXMOX_LOG_LEVEL: 'debug' }, undefined],
    [{ PROXMOX_LOG_LEVEL: 'Info' }, 'info'],
  ])('of %j is %s', (environment, level) => {
    expect(logLevelOf(environment)).toBe(level);
  });

  it('keeps lines that are not shown from being built', () => {
    const { lines, log } = logger('warn');
    const fields = {
      get costly(): never {
        throw new Error('was read');
      },
    };
    log.log('info', 'no', fields);
    log.log('error', 'yes');
    expect(lines).toHaveLength(1);
    const off = logger(undefined);
    off.log.log('error', 'no');
    expect(off.lines).toEqual([]);
  });
});
