import { describe, expect, it } from 'vitest';
import { ProxwrightError } from '../../base/errors.ts';
import type { Plan } from '../../kinds/change.ts';
import { damagedCopies } from '../../state/testing/damage.ts';
import { address, change, planOf } from '../testing/plans.ts';
import { parsePlan, printPlan } from './plan-file.ts';

const WEB = address('vm.web');
const PLAN: Plan = {
  ...planOf([change({ address: WEB, kind: 'create' })]),
  steps: [
    {
      id: 'vm.web/clone',
      address: WEB,
      stage: 'create',
      action: 'vm.clone',
      needs: [],
      input: { source: { vmid: 9000 } },
    },
  ],
  options: { allowRestart: true },
};

describe('a plan file', () => {
  it('comes back as it was written', () => {
    expect(parsePlan(printPlan(PLAN), 'plan.json', 'demo')).toEqual(PLAN);
  });

  it('is refused if a value in it was edited', () => {
    const edited = printPlan(PLAN).replace('"vmid": 9000', '"vmid": 9001');
    expect(() => parsePlan(edited, 'plan.json', 'demo')).toThrow(/checksum does not fit.*edited or damaged/s);
  });

  it('with a flipped bit is refused or harmless, wherever the bit is', () => {
    let refused = 0;
    const text = printPlan(PLAN);
    for (const copy of damagedCopies(text)) {
      try {
        // A damaged name of the checksum leaves the plan as it was, and apply makes it again anyway.
        expect(parsePlan(copy, 'plan.json', 'demo'), copy).toMatchObject(JSON.parse(JSON.stringify(PLAN)));
      } catch (error) {
        if (!(error instanceof ProxwrightError)) throw error;
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(text.length * 4);
  });
});
