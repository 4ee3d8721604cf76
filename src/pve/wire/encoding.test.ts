import { describe, expect, it } from 'vitest';
import { Secret } from '../../base/secret.ts';
import { encodeForm, type FormParams } from './encoding.ts';

describe('encodeForm', () => {
  it('escapes everything the server would split at', () => {
    expect(encodeForm({ boot: 'order=scsi0;net0', args: 'a&b+c%' })).toBe(
      'boot=order%3Dscsi0%3Bnet0&args=a%26b%2Bc%25',
    );
  });

  it('writes booleans as 0 and 1, numbers plainly, lists as a repeated key, and leaves out what is not set', () => {
    expect(
      encodeForm({ onboot: true, kvm: false, cores: 2, cpulimit: 1e-7, tags: ['a', 'b'], name: undefined, none: [] }),
    ).toBe('onboot=1&kvm=0&cores=2&cpulimit=0.0000001&tags=a&tags=b');
  });

  it('reveals a secret, this being the wire', () => {
    expect(encodeForm({ cipassword: new Secret('s=1') })).toBe('cipassword=s%3D1');
  });

  it('refuses null and other strangers: they would not do what they seem to', () => {
    for (const value of [null, {}, [null]]) {
      // The compiler forbids it; a caller with data of unknown type could still do it.
      expect(() => encodeForm({ cores: value } as unknown as FormParams)).toThrow('cannot be sent');
    }
    expect(() => encodeForm({ cores: Number.NaN })).toThrow('finite');
  });
});
