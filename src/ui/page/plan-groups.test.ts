import { describe, expect, it } from 'vitest';
import type { ChangeView } from '../server/source.ts';
import { groupsOf } from './plan-groups.ts';

function worker(number: number, more: Partial<ChangeView> = {}): ChangeView {
  const name = `worker-${number}`;
  return {
    address: `vm.worker[${number}]`,
    kind: 'create',
    verb: 'create',
    name,
    node: 'pve1',
    vmid: 100 + number,
    reason: 'It is a clone of debian-13.',
    notes: [],
    destroys: [],
    fields: [
      { path: 'name', before: 'debian-13', after: name, by: 'file', effect: 'live' },
      { path: 'memory', before: '1GiB', after: '2GiB', by: 'file', effect: 'live' },
      { path: 'nics.net0.ipv4.address', before: null, after: `10.0.0.${number}/24`, by: 'file', effect: 'live' },
    ],
    ...more,
  };
}

describe('groupsOf', () => {
  it('shows once what 300 members have in common, and what differs as a column', () => {
    const groups = groupsOf(Array.from({ length: 300 }, (_, index) => worker(index + 1)));
    expect(groups).toHaveLength(1);
    expect(groups[0]).toMatchObject({ title: 'vm.worker', columns: ['nics.net0.ipv4.address'] });
    expect(groups[0]?.fields.map(({ path }) => path)).toEqual(['memory']);
    expect(groups[0]?.members).toHaveLength(300);
  });

  it.each([
    ['another kind of change', { kind: 'replace', verb: 'replace' }],
    ['a restart', { verb: 'create and restart' }],
    ['another reason', { reason: 'It was deleted.' }],
    ['a note', { notes: ['the VM is restarted'] }],
    ['another field', { fields: worker(2).fields.slice(0, 2) }],
    ['who changed it', { fields: worker(2).fields.map((field) => ({ ...field, by: 'others' as const })) }],
    ['what it was before', { fields: worker(2).fields.map((field) => ({ ...field, before: 'x' })) }],
    ['another resource', { address: 'vm.other[2]' }],
  ])('keeps changes apart that differ in %s', (_, more) => {
    expect(groupsOf([worker(1), worker(2, more)]).map(({ members }) => members.length)).toEqual([1, 1]);
  });

  it('counts texts as equal that differ only in the name and address of their VM', () => {
    const told = (number: number) =>
      worker(number, { reason: `vm.worker[${number}] is new.`, notes: [`worker-${number} is made from nothing.`] });
    expect(groupsOf([told(1), told(2)])).toHaveLength(1);
  });

  it('gives a change without siblings its own address', () => {
    expect(groupsOf([worker(7)])[0]).toMatchObject({ title: 'vm.worker[7]', columns: [] });
  });

  it('keeps all that is destroyed', () => {
    const [group] = groupsOf([1, 2].map((number) => worker(number, { destroys: [`scsi0: disk-${number}`] })));
    expect(group?.members.flatMap(({ destroys }) => destroys)).toEqual(['scsi0: disk-1', 'scsi0: disk-2']);
  });
});
