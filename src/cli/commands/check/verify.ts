/** `proxwright verify`: checks that the cluster still matches the file (validate, doctor, plan), and leaves evidence. */
import { evidenceOf } from '../../../engine/evidence/record.ts';
import type { CommandDeps, ExitCode, StackOptions } from '../../command.ts';
import { type EvidenceOptions, Proof } from '../../evidence/proof.ts';
import { judged, passDoctor, passValidate } from '../../evidence/stages.ts';
import { connect } from '../../stack/connect.ts';
import { planWithoutLock } from '../../stack/planning.ts';

export interface VerifyOptions extends StackOptions, EvidenceOptions {
  readonly only?: readonly string[];
}

export async function runVerify(options: VerifyOptions, outerDeps: CommandDeps): Promise<ExitCode> {
  const proof = new Proof('verify', options, outerDeps);
  return proof.recorded(async () => {
    const { gate, known } = proof;
    const opened = await passValidate(proof, options, outerDeps);
    const health = await passDoctor(proof, opened, outerDeps);
    // A server that cannot be reached cannot be compared either. Other findings do not prevent the comparison.
    if (health === 'unreachable') return 1;
    const verdict = await gate.pass('plan', outerDeps, async (deps) => {
      const pve = await connect(opened, deps);
      try {
        const planned = await planWithoutLock(opened, deps, pve, { only: options.only ?? [] });
        const { plan, secrets } = planned;
        const compared = evidenceOf({ ...planned, stack: opened.stack });
        Object.assign(known, { plan, lastPlan: plan, compared, secrets });
        return judged({ plan, compared, server: pve }, deps);
      } finally {
        await pve.close();
      }
    });
    return health === 'well' ? verdict : 1;
  });
}
