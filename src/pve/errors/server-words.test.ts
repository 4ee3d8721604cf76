import { describe, expect, it } from 'vitest';
import { serverWords } from './server-words.ts';

const words = (body: string, reason = 'from the reason phrase', clean = (text: string) => text) =>
  serverWords({ status: 500, reason, headers: {}, body }, clean);

describe('the words of a server', () => {
  it.each([
    ['in the body, since 8.3', '{"data":null,"message":"from the body\\n"}', 'from the body'],
    ['in the reason phrase', '{"data":null}', 'from the reason phrase'],
    ['in the reason phrase where the body is no object', '["a"]', 'from the reason phrase'],
    ['in the reason phrase where the body is null', 'null', 'from the reason phrase'],
    ['in the reason phrase where the message is no text', '{"message":5}', 'from the reason phrase'],
  ])('are found %s', (_, body, message) => expect(words(body).message).toBe(message));

  it('are the plain body where there is neither', () => {
    expect(words(' permission denied ', '').message).toBe('permission denied');
  });

  it('are not the markup of a proxy', () => {
    expect(words('  <html>Bad Gateway</html>', '').message).toBe('no message');
    expect(words('1 < 2', '').message).toBe('1 < 2');
  });

  it('are cut at two thousand characters', () => {
    expect(words(JSON.stringify({ message: 'x'.repeat(2_000) })).message).toBe('x'.repeat(2_000));
    expect(words(JSON.stringify({ message: 'x'.repeat(2_001) })).message).toBe(`${'x'.repeat(2_000)}…`);
  });

  it('are cleaned of secrets everywhere', () => {
    const clean = (text: string) => text.replaceAll('secret', '•••');
    const { message, errors } = words('{"message":"a secret","errors":{"secret":"secret"}}', '', clean);
    expect([message, errors]).toEqual(['a •••', [{ key: '•••', text: '•••' }]]);
  });
});

describe('errors by parameter', () => {
  it('are sorted, because the server sends them in random order', () => {
    const { errors } = words('{"errors":{"c":"3","a":"1\\n","b":{"deep":2}}}');
    expect(errors).toEqual([
      { key: 'a', text: '1' },
      { key: 'b', text: '{"deep":2}' },
      { key: 'c', text: '3' },
    ]);
  });

  it('are lines of their own in what people read, and each is one line', () => {
    const { quoted } = words('{"message":"Parameter verification failed.","errors":{"a":"first \\n  second"}}');
    expect(quoted).toBe('"Parameter verification failed."\na: first; second');
    expect(words('{"message":"it broke"}').quoted).toBe('"it broke".');
  });

  it.each(['[]', '"x"', 'null'])('are none where the server sends %s for them', (errors) => {
    expect(words(`{"message":"m","errors":${errors}}`).errors).toEqual([]);
  });
});
