import { describe, expect, it } from 'vitest';
import { testDeps } from '../../testing/deps.ts';
import { address, change, planOf } from '../../testing/plans.ts';
import { askToProceed } from './apply-steps.ts';

const volume = (slot: string) => ({ slot, volume: `tank:vm-401-${slot}`, sizeBytes: 1024 ** 3 });
const replace = (name: string, ...slots: string[]) =>
  change({ address: address(`vm.${name}`), kind: 'replace', name, destroys: slots.map(volume) });

async function asked(
  plan: ReturnType<typeof planOf>,
  answer: string,
): Promise<{ question: string; isAccepted: boolean }> {
  let question = '';
  const { deps } = testDeps({
    canAsk: true,
    ask: async (text) => {
      question = text;
      return answer;
    },
  });
  const isAccepted = await askToProceed({}, plan, deps).then(
    () => true,
    () => false,
  );
  return { question, isAccepted };
}

describe('the question before an apply', () => {
  it('accepts a yes for a plan that destroys nothing', async () => {
    const plan = planOf([change({ address: address('vm.web'), kind: 'update' })]);
    expect(await asked(plan, 'y')).toMatchObject({ isAccepted: true });
    expect(await asked(plan, '')).toMatchObject({ isAccepted: false });
  });

  it('asks for the name of the VM whose volumes are destroyed, and does not accept a plain yes', async () => {
    const plan = planOf([replace('web', 'scsi0', 'scsi1')]);
    expect(await asked(plan, 'y')).toMatchObject({ isAccepted: false, question: expect.stringContaining('2 volumes') });
    expect(await asked(plan, 'web')).toMatchObject({ isAccepted: true });
  });

  it('asks for the name of the stack if several VMs lose volumes', async () => {
    const plan = planOf([replace('web', 'scsi0'), replace('db', 'scsi0')]);
    expect(await asked(plan, 'web')).toMatchObject({ isAccepted: false });
    expect(await asked(plan, 'demo')).toMatchObject({ isAccepted: true });
  });
});
