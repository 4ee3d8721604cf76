import { describe, expect, it } from 'vitest';
import type { Observed } from '../../../kinds/observed.ts';
import { emptyState } from '../../../kinds/recorded.ts';
import { vmRecordSchema } from '../../../kinds/vm/record.ts';
import { driftsOf } from '../../commands/check/drift.ts';
import { address, change, planOf } from '../../testing/plans.ts';
import { plainPaint } from '../text/paint.ts';
import { renderDrift } from './drift.ts';

const recorded = vmRecordSchema.parse({
  vmid: 401,
  node: 'pve1',
  name: 'web-1',
  phase: 'complete',
  lastApplied: { memory: '4GiB', 'cpu.cores': 4 },
});

const observed = (gone: readonly string[]) =>
  // Nothing else of what was observed matters here.
  ({ vms: new Map(gone.map((each) => [address(each), { kind: 'gone' }])) }) as unknown as Observed;

describe('drift', () => {
  it('lists what was changed outside Proxwright with the applied value, and leaves out changes in the file', () => {
    const plan = planOf([
      change({
        address: address('vm.web'),
        kind: 'update',
        differences: [
          { path: 'memory', key: 'memory', before: '2GiB', after: '8GiB', by: 'both', effect: 'restart' },
          { path: 'cpu.cores', key: 'cores', before: 2, after: 4, by: 'others', effect: 'live' },
          { path: 'tags', key: 'tags', before: null, after: ['a'], by: 'file', effect: 'live' },
        ],
      }),
      change({ address: address('vm.db'), kind: 'create', name: 'db', vmid: undefined }),
      change({ address: address('vm.new'), kind: 'create', name: 'new', vmid: undefined }),
    ]);
    const state = { ...emptyState('demo'), vms: { 'vm.web': recorded, 'vm.db': { ...recorded, vmid: 402 } } };
    const drifts = driftsOf({ plan, state, observed: observed(['vm.db']) });
    expect(renderDrift(drifts, plainPaint).join('\n')).toMatchInlineSnapshot(`
      "! vm.web  web-1 (VM 401 on pve1)
          memory     2GiB  (applied: 4GiB)
          cpu.cores  2  (applied: 4)

      ! vm.db  db (VM 402 on pve1)
          gone: it was removed outside Proxwright

      2 VMs were changed outside Proxwright. To correct this: proxwright apply"
    `);
  });

  it('says so if there is none', () => {
    expect(renderDrift([], plainPaint)).toEqual([
      'No drift: nothing was changed outside Proxwright since the last apply.',
    ]);
  });
});
