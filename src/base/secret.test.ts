import { describe, expect, it } from 'vitest';
import { KnownSecrets, redact, Secret } from './secret.ts';

const PASSWORD = 'hün/ter "2&<x> y';

describe('known secrets', () => {
  const secrets = new KnownSecrets([new Secret(PASSWORD)]);

  it.each([
    ['as it is', PASSWORD],
    ['in a URL', encodeURIComponent(PASSWORD)],
    ['in a URL with small digits', encodeURIComponent(PASSWORD).toLowerCase()],
    ['in a form', new URLSearchParams({ password: PASSWORD }).toString().slice('password='.length)],
    ['in JSON', JSON.stringify(PASSWORD).slice(1, -1)],
    ['in JSON with escaped slashes and letters', 'h\\u00fcn\\/ter \\"2\\u0026<x> y'],
    ['in HTML', 'hün/ter &quot;2&amp;&lt;x&gt; y'],
    ['in Base64', Buffer.from(PASSWORD).toString('base64')],
    ['in Base64 for URLs', Buffer.from(PASSWORD).toString('base64url')],
    ['in a Base64 header, behind a name', Buffer.from(`deploy:${PASSWORD}\n`).toString('base64')],
  ])('are removed %s', (_how, spelled) => {
    const text = secrets.redact(`before ${spelled} after`);
    expect(text).toMatch(/^before .{0,16}•••.{0,8} after$/);
    expect(text).not.toContain(spelled.slice(6, -4));
  });

  it('are removed line by line where a file holds them', () => {
    const file = new KnownSecrets([new Secret('#cloud-config\npassword: correct horse\nusers:\n')]);
    expect(file.redact('cannot parse "password: correct horse" below "#cloud-config"')).toBe(
      'cannot parse "•••" below "#cloud-config"',
    );
  });

  it('are removed from data, which keeps its shape', () => {
    const data = { list: [`is ${PASSWORD}`, 7, null], [PASSWORD]: true };
    expect(secrets.redactIn(data)).toEqual({ list: ['is •••', 7, null], '•••': true });
  });

  it('do not make text unreadable if they are very short', () => {
    expect(new KnownSecrets([new Secret('1'), new Secret('   ')]).redact('1 of 12')).toBe('1 of 12');
  });

  it('are removed from our own messages as whole words if they are very short', () => {
    const short = [new Secret('b'), new Secret('1'), new Secret('$'), new Secret(' ')];
    expect(redact('"memory" is "b": write 1 or 512MiB, variables cost $', short)).toBe(
      '"memory" is "•••": write ••• or 512MiB, variables cost •••',
    );
  });

  it('are removed although they became known later', () => {
    const growing = new KnownSecrets();
    growing.add(new Secret('ticket-1'));
    expect(growing.redact('got ticket-1')).toBe('got •••');
  });
});
