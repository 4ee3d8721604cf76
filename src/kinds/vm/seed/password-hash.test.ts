import { describe, expect, it } from 'vitest';
import { passwordHash, sha512Crypt } from './password-hash.ts';

describe('a hashed password', () => {
  it.each([
    ['secret', 'saltstring', 'AIsRs/Ee56G/tC8MEHhvReZTfx8u3rXXMl6eYrjCG9ibix19DxoMBLogdTET5Ukw9Sf7eZTITsuk0Ry5qulYz.'],
    [
      'a much longer password than sixty-four bytes, so that every digest is repeated at least once',
      '0123456789abcdef',
      'x4ZDBtjHgmbg9rn4Vb1fSMZiizVRNbShLJqgaPv50Y2N/aBm8PL7OS41w3yUX.WZgefIXTTEgxKvagqsACbvX1',
    ],
    ['pässwörd', './ABxyz', 'RTCt9TrAGQkCDn4Xm.hNZoeXgUrxs3Kz.zZxjCJN.cnkjf3OI8DIa2.93TUwWT9cWxL8QU3tH7Z/aFIPDKfTH0'],
  ])('of %j and %s equals the output of openssl passwd -6', (password, salt, hash) => {
    expect(sha512Crypt(password, salt)).toBe(`$6$${salt}$${hash}`);
  });

  it('is the same for the same VM and differs between VMs', () => {
    expect(passwordHash('secret', 'one')).toBe(passwordHash('secret', 'one'));
    expect(passwordHash('secret', 'one')).not.toBe(passwordHash('secret', 'two'));
  });

  it('has a salt that reveals nothing about the password', () => {
    const saltOf = (hash: string) => hash.split('$')[2];
    expect(saltOf(passwordHash('secret', 'one'))).toBe(saltOf(passwordHash('another', 'one')));
    expect(saltOf(passwordHash('secret', 'one'))).toMatch(/^[./0-9A-Za-z]{16}$/);
  });

  it.each(['$6$saltstring$AIsRs/Ee56G', '$5$rounds=5000$salt$hash', '$y$j9T$abc$def'])('stays as it is: %s', (hash) => {
    expect(passwordHash(hash, 'one')).toBe(hash);
  });
});
