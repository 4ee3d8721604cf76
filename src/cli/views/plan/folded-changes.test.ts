import { describe, expect, it } from 'vitest';
import type { Change } from '../../../kinds/change.ts';
import { address, change, planOf } from '../../testing/plans.ts';
import { plainPaint } from '../text/paint.ts';
import { renderPlan } from './plan.ts';

const set = (path: string, before: unknown, after: unknown) =>
  ({ path, key: path, before, after, by: 'file', effect: 'live' }) as const;

function web(number: number, part: Partial<Change> = {}): Change {
  return change({
    address: address(`vm.web[${number}]`),
    kind: 'create',
    name: `web-${number}`,
    vmid: 100 + number,
    reason: 'It is a full clone of base (9000 on pve1).',
    differences: [
      set('name', 'base', `web-${number}`),
      set('memory', '2GiB', '4GiB'),
      set('nics.net0.ipv4.address', 'dhcp', `10.0.0.${number}/24`),
    ],
    ...part,
  });
}

const lines = (...changes: Change[]) => renderPlan(planOf(changes), plainPaint);

describe('a plan for many equal VMs', () => {
  it('shows the first in full, and for the others name, id, node and differences, such as the address', () => {
    expect(lines(web(1), web(2), web(3, { node: 'pve2' })).join('\n')).toMatchInlineSnapshot(`
      "+ vm.web[1]  create web-1 (VM 101 on pve1)
          It is a full clone of base (9000 on pve1).
          name                    base → web-1
          memory                  2GiB → 4GiB
          nics.net0.ipv4.address  dhcp → 10.0.0.1/24
      + vm.web[2]  create web-2 (VM 102 on pve1)  same as above, nics.net0.ipv4.address dhcp → 10.0.0.2/24
      + vm.web[3]  create web-3 (VM 103 on pve2)  same as above, nics.net0.ipv4.address dhcp → 10.0.0.3/24

      3 to create, 0 to change, 0 to delete."
    `);
  });

  it('uses one line for each of 50 VMs', () => {
    expect(lines(...Array.from({ length: 50 }, (_, n) => web(n + 1))).length).toBe(50 + 4 + 2);
  });

  it('says what an override changes', () => {
    const bigger = web(2, {
      differences: [
        set('name', 'base', 'web-2'),
        set('memory', '2GiB', '8GiB'),
        set('nics.net0.ipv4.address', 'dhcp', '10.0.0.2/24'),
      ],
    });
    expect(lines(web(1), bigger)).toContainEqual(expect.stringContaining('same as above, memory 2GiB → 8GiB, nics'));
  });

  it('does not mistake a note for a field, whatever its spacing', () => {
    const noted = (number: number) => web(number, { notes: [`disk  ${number}`] });
    expect(lines(noted(1), noted(2)).join('\n')).not.toContain('same as above');
  });

  it('says what differs even if the name of a VM is a number that its fields contain', () => {
    const numbered = (number: number) =>
      web(number, { name: `${number}`, differences: [set('name', 'base', `${number}`), set('cpu.cores', 4, number)] });
    expect(lines(numbered(1), numbered(2))).toContainEqual(expect.stringContaining('same as above, cpu.cores 4 → 2'));
  });

  it('folds notes that name the VM itself', () => {
    const noted = (number: number) => web(number, { notes: [`To follow, replace it (--replace 'vm.web[${number}]')`] });
    expect(lines(noted(1), noted(2))).toContainEqual(expect.stringContaining('same as above, nics'));
  });

  it.each<[string, Partial<Change>]>([
    ['fields', { differences: [set('name', 'base', 'web-2'), set('cpu.cores', 1, 2), set('tags', null, 'x')] }],
    ['a reason', { reason: 'It is a full clone of other (9001 on pve1).' }],
    ['a verb', { kind: 'complete' }],
    ['an inherited disk', { inherited: ['scsi1: 3GiB on tank'] }],
    ['a restart', { kind: 'update', restarts: true }],
  ])('shows a change with a different %s in full', (_, part) => {
    expect(lines(web(1), web(2, part)).join('\n')).not.toContain('same as above');
  });
});
