/** Plans for tests of views. */
import type { Address } from '../../base/address.ts';
import type { Change, Plan } from '../../kinds/change.ts';

export const address = (text: string) => text as Address;

export function change(part: Partial<Change> & Pick<Change, 'address' | 'kind'>): Change {
  return {
    name: 'web-1',
    node: 'pve1',
    vmid: 401,
    reason: 'The file changed.',
    differences: [],
    inherited: [],
    unmanaged: [],
    restartPending: [],
    restarts: false,
    ...part,
  };
}

export function planOf(changes: readonly Change[]): Plan {
  return {
    version: 1,
    stack: 'demo',
    createdAt: '2026-01-01T00:00:00.000Z',
    changes,
    steps: [],
    warnings: [],
    fingerprints: { stack: '', state: '', vms: {} },
  };
}
