import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  appendOwnership,
  findOwnership,
  type Ownership,
  ownershipCounts,
  parseOwnership,
  printOwnership,
  stripOwnership,
} from './ownership.ts';

const UUID = '11111111-2222-4333-8444-555555555555';
const OWN: Ownership = { stack: 'k3s-dev', address: 'vm.worker[2]', vmid: 112, uuid: UUID };

describe('the ownership line', () => {
  it('is one readable line', () => {
    expect(printOwnership(OWN)).toBe(`proxwright: stack=k3s-dev address=vm.worker[2] vmid=112 uuid=${UUID}`);
    expect(printOwnership({ ...OWN, incomplete: true })).toMatch(/ state=incomplete$/);
  });

  it('comes back as it was written, whatever the names contain', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
    const any = fc.record(
      { stack: name, address: name, vmid: fc.integer({ min: 100, max: 999_999_999 }), uuid: fc.uuid(), nonce: name },
      { requiredKeys: ['stack', 'address', 'vmid'] },
    );
    fc.assert(
      fc.property(any, fc.boolean(), (given, incomplete) => {
        const ownership: Ownership = incomplete ? { ...given, incomplete } : given;
        const line = printOwnership(ownership);
        expect(line).not.toMatch(/[\r\n]/);
        expect(parseOwnership(line)).toEqual(ownership);
      }),
    );
  });

  it('is not seen in other lines', () => {
    for (const line of ['', 'proxwright: hello', 'proxwright: stack=a address=b vmid=7', `x ${printOwnership(OWN)}`]) {
      expect(parseOwnership(line), line).toBeUndefined();
    }
  });

  it('counts only for the VM it was written for', () => {
    expect(ownershipCounts(OWN, { vmid: 112, uuid: UUID.toUpperCase() })).toBe(true);
    expect(ownershipCounts(OWN, { vmid: 113, uuid: UUID })).toBe(false);
    expect(ownershipCounts(OWN, { vmid: 112, uuid: UUID.replace('1', '9') })).toBe(false);
    expect(ownershipCounts({ ...OWN, uuid: undefined }, { vmid: 112, uuid: undefined })).toBe(false);
  });

  it('stands below the notes and leaves them as they were', () => {
    const line = printOwnership(OWN);
    const notes = appendOwnership('Ask Anna.\n', line);
    expect(notes).toBe(`Ask Anna.\n\n${line}`);
    expect(stripOwnership(notes)).toBe('Ask Anna.');
    expect(findOwnership(notes)).toEqual(OWN);
    expect(appendOwnership('', line)).toBe(line);
    expect(stripOwnership('no line  \n')).toBe('no line  \n');
  });
});
