import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProxwrightError } from '../../base/errors.ts';
import { Secret } from '../../base/secret.ts';
import type { Plan } from '../../kinds/change.ts';
import { damagedCopies } from '../../state/testing/damage.ts';
import { testDeps } from '../testing/deps.ts';
import { address, change, planOf } from '../testing/plans.ts';
import { parsePlan, printPlan, readPlan, writePlan } from './plan-file.ts';

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

/** The same value with the keys of every object in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, each]) => [key, reversed(each)]),
  );
}

describe('a plan file', () => {
  it('is the same text for the same plan, whatever the order of its keys', () => {
    const key = new Secret('k'.repeat(32));
    expect(printPlan(reversed(PLAN) as Plan, key)).toBe(printPlan(PLAN, key));
    expect(parsePlan(JSON.stringify(reversed(JSON.parse(printPlan(PLAN, key)))), 'p', 'demo', key)).toEqual(PLAN);
  });

  it('comes back as it was written', () => {
    expect(parsePlan(printPlan(PLAN), 'plan.json', 'demo')).toEqual(PLAN);
  });

  it('is refused if a value in it was edited', () => {
    const edited = printPlan(PLAN).replace('"vmid": 9000', '"vmid": 9001');
    expect(() => parsePlan(edited, 'plan.json', 'demo')).toThrow(/checksum does not match.*edited or damaged/s);
  });

  it('with a flipped bit is refused or harmless, wherever the bit is', () => {
    let refused = 0;
    const text = printPlan(PLAN);
    for (const copy of damagedCopies(text)) {
      try {
        // A damaged key of the checksum leaves the plan as it was, and apply recomputes it anyway.
        expect(parsePlan(copy, 'plan.json', 'demo'), copy).toMatchObject(JSON.parse(JSON.stringify(PLAN)));
      } catch (error) {
        if (!(error instanceof ProxwrightError)) throw error;
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(text.length * 4);
  });
});

describe('a signed plan file', () => {
  const [KEY, OTHER] = [new Secret('the key of this repository'), new Secret('the key of another one')];
  const untrusted = expect.objectContaining({ code: 'PLAN_UNTRUSTED' });
  const read = (text: string, key?: Secret) => () => parsePlan(text, 'plan.json', 'demo', key);
  /** Changed by an attacker who repairs the checksum. */
  const forged = (change: (plan: Record<string, unknown>) => void) => {
    const { checksum: _, ...content } = JSON.parse(printPlan(PLAN, KEY)) as Record<string, unknown>;
    change(content);
    return JSON.stringify(content);
  };

  it('is accepted with its key, and without one', () => {
    const text = printPlan(PLAN, KEY);
    expect(read(text, KEY)()).toEqual(PLAN);
    expect(read(text)()).toEqual(PLAN);
    expect(text).not.toContain(KEY.reveal());
  });

  it.each([
    ['with another key', printPlan(PLAN, OTHER)],
    ['without a signature', printPlan(PLAN)],
    ['with an empty signature', forged((plan) => Object.assign(plan, { signature: '' }))],
    ['with a signature that is no text', forged((plan) => Object.assign(plan, { signature: null }))],
    ['with another step', forged((plan) => Object.assign(plan, { steps: [] }))],
    ['with another time', forged((plan) => Object.assign(plan, { createdAt: '2030-01-01T00:00:00.000Z' }))],
    ['with more in it', forged((plan) => Object.assign(plan, { more: 1 }))],
  ])('is refused %s', (_, text) => {
    expect(read(text, KEY)).toThrow(untrusted);
  });

  it('takes the key from the environment, and refuses one that is empty or short', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'proxwright-plan-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const at = (PROXWRIGHT_PLAN_KEY?: string) => testDeps({ directory, environment: { PROXWRIGHT_PLAN_KEY } }).deps;
    await writePlan('plan.json', PLAN, at(KEY.reveal()));
    expect(await readPlan('plan.json', 'demo', at(KEY.reveal()))).toEqual(PLAN);
    await expect(readPlan('plan.json', 'demo', at(OTHER.reveal()))).rejects.toThrow(untrusted);
    writeFileSync(
      join(directory, 'edited.json'),
      readFileSync(join(directory, 'plan.json'), 'utf8').replace('9000', '9001'),
    );
    await expect(readPlan('edited.json', 'demo', at(KEY.reveal()))).rejects.toMatchObject({ code: 'PLAN_STALE' });
    for (const key of ['', 'short']) {
      await expect(writePlan('x.json', PLAN, at(key))).rejects.toMatchObject({ code: 'BAD_VALUE' });
      await expect(readPlan('plan.json', 'demo', at(key))).rejects.toMatchObject({ code: 'BAD_VALUE' });
    }
  });
});
