import { describe, expect, it } from 'vitest';
import { Secret } from '../../../base/secret.ts';
import type { DesiredKey, DesiredValue } from './desired.ts';
import { packDesired, unpackDesired } from './packed.ts';

const SECRET = new Secret('hunter2');
const UNPACKING = {
  stack: 'lab',
  address: 'vm.web',
  vmid: 101,
  uuid: '2de0c4a7-7886-477f-ad9d-160d2c142ebd',
  secret: (key: string) => (key === 'cipassword' ? SECRET : undefined),
};
const LINE = `proxwright: stack=lab address=vm.web vmid=101 uuid=${UNPACKING.uuid}`;

const DESIRED: readonly DesiredKey[] = [
  { kind: 'value', text: '8192' },
  { kind: 'absent' },
  { kind: 'cloud-init-drive', storage: 'local' },
  { kind: 'property', set: { tag: '20', trunks: undefined } },
  { kind: 'property', set: {}, base: 'virtio' },
  { kind: 'cdrom', set: { media: undefined }, file: 'none' },
  { kind: 'notes', text: 'mine', line: LINE },
  { kind: 'notes', text: undefined, line: undefined },
  { kind: 'disk', set: { ssd: '1' }, sizeBytes: undefined, storage: 'tank', format: undefined, create: 'tank:8' },
];

const throughJson = (desired: readonly DesiredValue[]) =>
  unpackDesired(JSON.parse(JSON.stringify(packDesired(desired))), UNPACKING);

describe('packed desired values', () => {
  it.each(DESIRED)('survive a plan file: %j', (desired) => {
    expect(throughJson([{ key: 'x', desired }])).toEqual([{ key: 'x', desired }]);
  });

  it('leave out the value of a secret and restore it', () => {
    const value: DesiredValue = { key: 'cipassword', desired: { kind: 'secret', value: SECRET, digest: 'd' } };
    expect(JSON.stringify(packDesired([value]))).not.toContain('hunter2');
    expect(throughJson([value])).toEqual([value]);
  });

  it('leave out a secret whose value is unknown', () => {
    expect(throughJson([{ key: 'other', desired: { kind: 'secret', value: SECRET, digest: 'd' } }])).toEqual([]);
  });

  it('complete the ownership line with what is known when they are unpacked', () => {
    const [value] = throughJson([{ key: 'description', desired: { kind: 'notes', text: undefined, line: 'planned' } }]);
    expect(value?.desired).toMatchObject({ line: LINE });
  });
});
