import { describe, expect, it } from 'vitest';
import type { StorageRow } from '../../../cluster.ts';
import type { Findings } from '../../../kind.ts';
import { GIB, observedWith, stackFrom, storageRow, WEB } from '../../doctor/testing/patient.ts';
import { roomAfter } from '../../placement/room.ts';
import { checkRoom } from './room.ts';

const [vm] = stackFrom(WEB).vms;

/** 60 GiB on each of two nodes. */
function needed(): Findings {
  if (!vm) throw new Error('The stack has no VM.');
  const need = { bytes: 60 * GIB, for: vm };
  return {
    problems: [],
    neededBytes: new Map([
      ['pve1/tank', need],
      ['pve2/tank', need],
    ]),
  };
}

const both = (part: Partial<StorageRow>) =>
  observedWith({
    storages: new Map(['pve1', 'pve2'].map((node) => [node, { ok: true, value: [storageRow(part)] }])),
  });

const details = (part: Partial<StorageRow>) => {
  const findings = needed();
  checkRoom(both(part), findings);
  return findings.problems.map(({ detail }) => detail);
};

describe('the room for a plan', () => {
  it('is that of each node on local storages, and one room for all nodes on a shared one', () => {
    expect(details({ shared: false })).toEqual([]);
    expect(details({ shared: true })).toEqual(['This plan needs 120GiB on "tank"; 100GiB are free.']);
    expect(details({ shared: true, availableBytes: 120 * GIB })).toEqual([]);
    expect(details({ shared: false, availableBytes: 50 * GIB })).toEqual([
      'This plan needs 60GiB on "tank" of pve1; 50GiB are free.',
      'This plan needs 60GiB on "tank" of pve2; 50GiB are free.',
    ]);
  });

  it.each([
    ['a shared storage', true, 80],
    ['a local storage', false, 140],
  ])('shows what all nodes leave on %s', (_, shared, afterGiB) => {
    const after = roomAfter([], { vms: [] }, both({ shared, availableBytes: 200 * GIB }), needed());
    expect(
      after.map(({ node, storages = [] }) => [node, storages.map(({ freeAfterBytes }) => freeAfterBytes / GIB)]),
    ).toEqual([
      ['pve1', [afterGiB]],
      ['pve2', [afterGiB]],
    ]);
  });
});
