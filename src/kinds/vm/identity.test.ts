import { describe, expect, it } from 'vitest';
import { notOurs, sameVm } from './identity.ts';
import { ownershipCounts } from './ownership.ts';

const UUID = '6f1d2c3b-0a9e-4b7f-8c5d-1e2f3a4b5c6d';
const OURS = { vmid: 101, uuid: UUID };

describe('two VMs', () => {
  it.each([
    ['with the same id and uuid', OURS, true],
    ['whose uuids differ only in case', { vmid: 101, uuid: UUID.toUpperCase() }, true],
    ['with another id', { vmid: 102, uuid: UUID }, false],
    ['with another uuid', { vmid: 101, uuid: UUID.replace('6', '7') }, false],
    ['of which one has no uuid', { vmid: 101, uuid: undefined }, false],
  ])('%s', (_, other, same) => {
    expect(sameVm(OURS, other)).toBe(same);
    expect(sameVm(other, OURS)).toBe(same);
    expect(ownershipCounts({ stack: 'lab', address: 'vm.web', ...OURS }, other)).toBe(same);
  });

  it('without uuids are not the same', () => {
    expect(sameVm({ vmid: 101 }, { vmid: 101 })).toBe(false);
  });
});

describe('the refusal of another VM', () => {
  const observed = { vmid: 101, node: 'pve2', uuid: 'other', current: new Map([['name', 'stranger']]) };

  it('names that VM and both uuids', () => {
    const { diagnostic } = notOurs({ address: 'vm.web[2]', recorded: OURS, observed });
    expect(diagnostic).toMatchObject({ code: 'NOT_OURS', where: { address: 'vm.web[2]' } });
    expect(diagnostic.detail).toBe(
      `VM 101 on pve2 ("stranger") is another VM: its uuid is other, and the one made for vm.web[2] had ${UUID}. Proxwright leaves it alone.`,
    );
    expect(diagnostic.hint?.run).toMatchObject([
      { command: 'state forget', args: ['vm.web[2]'] },
      { command: 'import', args: ['vm.web[2]', '101', '--accept-identity'] },
    ]);
  });

  it('says so if a VM has neither name nor uuid, or ours had none', () => {
    const bare = { vmid: 101, node: 'pve2', uuid: undefined, current: new Map<string, string>() };
    const { detail } = notOurs({ address: 'vm.web', recorded: { vmid: 101 }, observed: bare }).diagnostic;
    expect(detail).toMatch(
      /^VM 101 on pve2 is another VM: its uuid is missing, and the one made for vm\.web had none\./,
    );
  });

  it('quotes the ownership line of that VM, and no other line of its notes', () => {
    const line = 'proxwright: stack=other address=vm.db vmid=101';
    const withNotes = (description: string) => ({ ...observed, current: new Map([['description', description]]) });
    const detailOf = (description: string) =>
      notOurs({ address: 'vm.web', recorded: OURS, observed: withNotes(description) }).diagnostic.detail;
    expect(detailOf(`Ask Anna, not proxwright: \n${line}\r\nor Ben.`)).toContain(
      ` had ${UUID}. Its notes say: "${line}". Proxwright leaves it alone.`,
    );
    expect(detailOf('Ask Anna.')).toContain(` had ${UUID}. Proxwright leaves it alone.`);
  });

  it('does not offer to import an unfinished copy', () => {
    const half = { ...observed, lock: 'clone' };
    const { hint } = notOurs({ address: 'vm.web', recorded: OURS, observed: half }).diagnostic;
    expect(hint?.run).toMatchObject([{ command: 'state forget', args: ['vm.web'] }]);
    expect(hint?.text).toBe('Forget the old VM: proxwright state forget vm.web');
  });

  it('points at a place in the file instead of the address, if there is one', () => {
    const where = { file: 'stack.yaml', line: 7, column: 3 };
    const { diagnostic } = notOurs({ address: 'vm.web', recorded: OURS, observed, where });
    expect(diagnostic.where).toEqual(where);
  });

  it('does not say that nothing was changed once the run has acted', () => {
    const { detail } = notOurs({ address: 'vm.web', recorded: OURS, observed, acted: true }).diagnostic;
    expect(detail).not.toContain('Proxwright leaves it alone.');
    expect(detail).toContain(
      'This run had already changed or switched VM 101: check that this did not reach the other VM. ' +
        'Proxwright leaves it alone from now on.',
    );
  });
});
