import { describe, expect, it } from 'vitest';
import { decodeConfig } from './config.ts';

describe('decodeConfig', () => {
  it('separates the digest, makes texts of numbers and keeps unknown keys', () => {
    const config = decodeConfig({
      memory: '256',
      cores: 2,
      cpulimit: '1.50',
      onboot: true,
      boot: ' ',
      description: 'a ',
      future: 'x',
      digest: 'abc',
      nothing: null,
    });
    expect(config.digest).toBe('abc');
    expect(Object.fromEntries(config.values)).toEqual({
      boot: '',
      cores: '2',
      cpulimit: '1.5',
      description: 'a ',
      future: 'x',
      memory: '256',
      onboot: '1',
    });
  });

  it('does not depend on the order of the answer', () => {
    expect([...decodeConfig({ b: 1, a: 2 }).values]).toEqual([...decodeConfig({ a: 2, b: 1 }).values]);
  });

  it.each([[null], ['text'], [[]], [{ scsi0: {} }]])('refuses %j', (raw) => {
    expect(() => decodeConfig(raw)).toThrow('BAD_ANSWER');
  });
});
