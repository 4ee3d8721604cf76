import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  appendOwnership,
  findOwnership,
  ipsIn,
  isForeign,
  type Ownership,
  ownerOf,
  ownershipCounts,
  ownershipLines,
  parseOwnership,
  printOwnership,
  recipeIn,
  saysIncomplete,
  stripOwnership,
  withoutIps,
  withoutLeaving,
  withoutLineage,
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
      {
        stack: name,
        address: name,
        vmid: fc.integer({ min: 100, max: 999_999_999 }),
        uuid: fc.uuid(),
        nonce: name,
        ips: name,
      },
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

  it('is not recognised in other lines', () => {
    for (const line of ['', 'proxwright: hello', 'proxwright: stack=a address=b vmid=7', `x ${printOwnership(OWN)}`]) {
      expect(parseOwnership(line), line).toBeUndefined();
    }
  });

  it('is recognised with more spaces than were written', () => {
    const line = printOwnership(OWN);
    expect(parseOwnership(`${line.replaceAll(' ', '   ')}  `)).toEqual(OWN);
  });

  it('counts only for the VM it was written for', () => {
    expect(ownershipCounts(OWN, { vmid: 112, uuid: UUID.toUpperCase() })).toBe(true);
    expect(ownershipCounts(OWN, { vmid: 113, uuid: UUID })).toBe(false);
    expect(ownershipCounts(OWN, { vmid: 112, uuid: UUID.replace('1', '9') })).toBe(false);
    expect(ownershipCounts({ ...OWN, uuid: undefined }, { vmid: 112, uuid: undefined })).toBe(false);
  });

  it('is added below the notes and leaves them unchanged', () => {
    const line = printOwnership(OWN);
    const notes = appendOwnership('Ask Anna.\n', line);
    expect(notes).toBe(`Ask Anna.\n\n${line}`);
    expect(stripOwnership(notes)).toBe('Ask Anna.');
    expect(findOwnership(notes)).toEqual(OWN);
    expect(appendOwnership('', line)).toBe(line);
    expect(stripOwnership('no line  \n')).toBe('no line  \n');
  });
});

describe('an ownership line that a person or program has edited', () => {
  // A literal, not `printOwnership(OWN)`: a defect in that function would fail the collection of these tests.
  const line = `proxwright: stack=k3s-dev address=vm.worker[2] vmid=112 uuid=${UUID}`;

  it.each(['stack', 'address', 'vmid'])('is not valid without its %s', (name) => {
    expect(parseOwnership(line.replace(new RegExp(` ${name}=\\S+`), ''))).toBeUndefined();
    expect(parseOwnership(line.replace(new RegExp(` ${name}=\\S+`), ` ${name}=`))).toBeUndefined();
  });

  it('may have extra blanks, extra words, and parts that cannot be decoded', () => {
    expect(parseOwnership(`proxwright:   ${line.slice('proxwright: '.length).replaceAll(' ', '  ')} `)).toEqual(OWN);
    expect(parseOwnership(`${line} kept by-anna=1`)).toEqual(OWN);
    expect(parseOwnership(line.replace('k3s-dev', '100%'))).toEqual({ ...OWN, stack: '100%' });
  });

  it('ignores empty parts and unknown states', () => {
    const bare = line.replace(`uuid=${UUID}`, 'uuid= nonce= recipe= state=whole');
    const { uuid: _, ...rest } = OWN;
    expect(parseOwnership(bare)).toStrictEqual(rest);
  });

  it('is the last one if the notes hold several, with either line ending', () => {
    const later = printOwnership({ ...OWN, vmid: 113 });
    const notes = `Ask Anna.\r\n${line}\r\n${later}\r\n`;
    expect(ownershipLines(notes)).toEqual([line, later]);
    expect(findOwnership(notes)?.vmid).toBe(113);
    expect(stripOwnership(notes)).toBe('Ask Anna.');
    expect([ownershipLines('Ask Anna.'), findOwnership('Ask Anna.')]).toEqual([[], undefined]);
  });
});

describe('the owner of a VM', () => {
  const vmWith = (description: string | undefined, vmid = 112) => ({
    vmid,
    uuid: UUID,
    current: new Map(description === undefined ? [] : [['description', description]]),
  });

  it('is named by the line in its notes, and by no line that was copied from another VM', () => {
    const notes = `Ask Anna.\n\n${printOwnership(OWN)}`;
    expect(ownerOf(vmWith(notes))).toEqual(OWN);
    expect(ownerOf(vmWith(notes, 113))).toBeUndefined();
    expect(ownerOf(vmWith('Ask Anna.'))).toBeUndefined();
    expect(ownerOf(vmWith(undefined))).toBeUndefined();
  });
});

describe('notes', () => {
  it('stay as they are if there is no line to add', () => {
    expect(appendOwnership('Ask Anna. \n', undefined)).toBe('Ask Anna. \n');
  });

  it('of blanks only are replaced by the line', () => {
    expect(appendOwnership(' \n', 'line')).toBe('line');
  });
});

describe('a line for a VM that has no id yet', () => {
  it('says whether it is complete', () => {
    expect(saysIncomplete('proxwright: stack=a state=incomplete')).toBe(true);
    expect(saysIncomplete('proxwright: stack=a state=incomplete nonce=1')).toBe(false);
    expect(saysIncomplete('proxwright: stack=a')).toBe(false);
  });

  it('contains the recipe of a template', () => {
    expect(recipeIn('proxwright: stack=a recipe=0af3 nonce=1')).toBe('0af3');
    expect(recipeIn('proxwright: stack=a recipe=0af3')).toBe('0af3');
    expect(recipeIn('proxwright: stack=a recipe=0af3x')).toBeUndefined();
    expect(recipeIn('proxwright: stack=a norecipe=0af3')).toBeUndefined();
    expect(recipeIn(printOwnership({ ...OWN, recipe: 'c0ffee' }))).toBe('c0ffee');
    expect(parseOwnership(printOwnership({ ...OWN, recipe: 'c0ffee' }))?.recipe).toBe('c0ffee');
  });

  it('leaves carriage returns in the notes around it, as Proxmox does', () => {
    const notes = appendOwnership('a\r\nb\r\n', printOwnership(OWN));
    expect(stripOwnership(notes)).toBe('a\r\nb');
    expect(ownershipLines(notes.replaceAll(/\r?\n/g, '\r\n'))).toEqual([printOwnership(OWN)]);
  });
});

describe('the addresses in a line', () => {
  it('are read from it and left out of comparisons, also for a VM that has no id yet', () => {
    const line = 'proxwright: stack=a ips=net0/10.0.0.5,net1/none nonce=1';
    expect([ipsIn(line), withoutIps(line)]).toEqual(['net0/10.0.0.5,net1/none', 'proxwright: stack=a nonce=1']);
    expect([ipsIn('proxwright: stack=a'), withoutIps('proxwright: stack=a')]).toEqual([
      undefined,
      'proxwright: stack=a',
    ]);
    expect(ipsIn('proxwright: stack=a ips=')).toBeUndefined();
  });
});

describe('the line of a VM that is to be deleted', () => {
  it('says so, unlike one that is only incomplete', () => {
    const line = printOwnership({ ...OWN, leaving: true });
    expect(line).toMatch(/ state=leaving$/);
    expect(parseOwnership(line)).toStrictEqual({ ...OWN, leaving: true });
    expect(parseOwnership(printOwnership({ ...OWN, incomplete: true }))).toStrictEqual({ ...OWN, incomplete: true });
    expect(withoutLeaving(line)).toBe(printOwnership(OWN));
    expect(withoutLeaving(`${line} nonce=1`)).toBe(`${line} nonce=1`);
  });
});

describe('the lineage in a line', () => {
  const own = '5f0c1a7e-93b2-4c11-8a55-0123456789ab';
  // Called in each test: an error during collection would fail none of them.
  const lineOf = () => printOwnership({ ...OWN, lineage: own });

  it('is short, and comes back', () => {
    const line = lineOf();
    expect(line).toContain(' lineage=5f0c1a7e-93b2');
    expect(line).not.toContain(own);
    expect(parseOwnership(line)?.lineage).toBe('5f0c1a7e-93b2');
    expect(withoutLineage(line)).toBe(printOwnership(OWN));
  });

  it('is foreign to every other state; a line without one is foreign to none', () => {
    const parsed = parseOwnership(lineOf()) ?? OWN;
    expect([isForeign(parsed, own), isForeign(parsed, '5f0c1a7e-93b2')]).toEqual([false, false]);
    expect([isForeign(parsed, own.replace('5', '6')), isForeign(parsed, undefined)]).toEqual([true, true]);
    expect([isForeign(OWN, own), isForeign(OWN, undefined)]).toEqual([false, false]);
  });
});
