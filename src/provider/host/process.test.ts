/** What a user sees of an uncaught defect. */
import { describe, expect, it } from 'vitest';
import { KnownSecrets, Secret } from '../../base/secret.ts';
import { panicText } from './process.ts';

describe('the text of a crash', () => {
  it('begins with the word that the host looks for, and has the stack', () => {
    const text = panicText(new TypeError('no such thing'), new KnownSecrets());
    expect(text).toMatch(/^panic: TypeError: no such thing\n/);
    expect(text).toContain('process.test.ts');
    expect(text).toContain('Please report it');
  });

  it('exists whatever was thrown', () => {
    expect(panicText('a string', new KnownSecrets())).toMatch(/^panic: Error: a string\n/);
    expect(panicText(undefined, new KnownSecrets())).toMatch(/^panic: Error: undefined\n/);
  });

  it('holds no secret', () => {
    expect(panicText(new Error('token hunter2'), new KnownSecrets([new Secret('hunter2')]))).not.toContain('hunter2');
  });
});
