import { describe, expect, it } from 'vitest';
import { Secret } from '../../base/secret.ts';
import { encodeForm, type FormParams } from './encoding.ts';

describe('encodeForm', () => {
  it('escapes every character that the server splits at', () => {
    expect(encodeForm({ boot: 'order=scsi0;net0', args: 'a&b+c%' })).toBe(
      'boot=order%3Dscsi0%3Bnet0&args=a%26b%2Bc%25',
    );
  });

  it('writes booleans as 0 and 1, numbers without exponent, lists as a repeated key, and omits unset values', () => {
    expect(
      encodeForm({ onboot: true, kvm: false, cores: 2, cpulimit: 1e-7, tags: ['a', 'b'], name: undefined, none: [] }),
    ).toBe('onboot=1&kvm=0&cores=2&cpulimit=0.0000001&tags=a&tags=b');
  });

  it('reveals a secret, because the request needs it', () => {
    expect(encodeForm({ cipassword: new Secret('s=1') })).toBe('cipassword=s%3D1');
  });

  it('rejects null and other unsupported values: the server would ignore or misread them', () => {
    for (const value of [null, {}, [null]]) {
      // The compiler forbids it, but a caller with data of unknown type could do it.
      expect(() => encodeForm({ cores: value } as unknown as FormParams)).toThrow('cannot be sent');
    }
    expect(() => encodeForm({ cores: Number.NaN })).toThrow('finite');
  });
});
