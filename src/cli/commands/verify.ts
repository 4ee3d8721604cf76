/** `proxwright verify`: is the last apply still true? validate → doctor → plan; changes nothing, and leaves evidence. */
import { inNumber } from '../../base/count.ts';
import { comparedVm, differingOf } from '../../engine/evidence/record.ts';
import { evidenceOf, type VmEvidence } from '../../engine/evidence.ts';
import type { Change, Plan } from '../../engine/plan-types.ts';
import type { Pve } from '../../pve/index.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { connect } from '../connect.ts';
import { countedKinds } from '../counted-kinds.ts';
import { passDoctor, passValidate } from '../evidence/first-stages.ts';
import type { StageEnd } from '../evidence/gate.ts';
import { type EvidenceOptions, Proof } from '../evidence/proof.ts';
import { hasChanges, lookAndPlan } from '../read-only-plan.ts';
import type { StackOptions } from '../stack-options.ts';
import { paintFor } from '../views/paint.ts';
import { renderPlan } from '../views/plan-view.ts';

export interface VerifyOptions extends StackOptions, EvidenceOptions {
  readonly only?: readonly string[];
}

export async function runVerify(options: VerifyOptions, outerHost: CommandHost): Promise<ExitCode> {
  const proof = new Proof('verify', options, outerHost);
  return proof.recorded(async () => {
    const { gate, known } = proof;
    const stackHost = await passValidate(proof, options, outerHost);
    const health = await passDoctor(proof, stackHost, outerHost);
    // Who cannot be reached cannot be compared either; what else the doctor says does not hinder a look.
    if (health === 'unreachable') return 1;
    const verdict = await gate.pass('plan', outerHost, async (host) => {
      const pve = await connect(stackHost, host);
      try {
        const sight = await lookAndPlan(stackHost, host, pve, { only: options.only ?? [] });
        const compared = evidenceOf({ ...sight, stack: stackHost.stack });
        Object.assign(known, { plan: sight.plan, lastPlan: sight.plan, compared, secrets: sight.secrets });
        return concludeVerification({ plan: sight.plan, compared, pve }, host);
      } finally {
        await pve.close();
      }
    });
    return health === 'well' ? verdict : 1;
  });
}

/** What a verdict is about. */
export interface Verification {
  readonly plan: Plan;
  readonly compared: ReadonlyMap<string, VmEvidence>;
  readonly pve: Pick<Pve, 'endpoint' | 'principal'>;
}

/** The gate: an empty plan passes, everything else is shown and fails. */
export function concludeVerification(verification: Verification, host: CommandHost): StageEnd<ExitCode> {
  const { terminal } = host;
  const { plan } = verification;
  const passed = !hasChanges(plan);
  if (host.json) for (const line of comparedLines(verification, passed)) terminal.result(JSON.stringify(line));
  else if (passed) for (const change of plan.changes) terminal.result(verdictLine(change));
  else for (const line of renderPlan(plan, paintFor(host.stdout))) terminal.result(line);
  const standing = plan.changes.filter(({ kind }) => kind !== 'keep').map(({ address }) => address);
  const words = passed
    ? `${countedKinds(standing)} ${inNumber(standing.length, 'is', 'are')} as the file says.`
    : `Not empty: ${differingOf(plan)
        .map(({ address }) => address)
        .join(', ')}.`;
  if (passed) terminal.success(`Verified: ${words}`);
  else terminal.log('error', 'Not verified: the cluster is not as the file says. To make it so: proxwright apply');
  return { value: passed ? 0 : 1, words, isFailed: !passed };
}

function verdictLine({ address, name, vmid, node, kind, restartPending }: Change): string {
  const verdict = kind === 'keep' ? 'left the file, kept' : 'as the file says';
  const pending = restartPending.length > 0 ? `; restart pending: ${restartPending.join(', ')}` : '';
  return `${address}  ${name} (${vmid === undefined ? '' : `VM ${vmid} `}on ${node}): ${verdict}${pending}`;
}

/** One line for the circumstances, one for each VM with every field that was compared, one for the verdict. */
function comparedLines({ plan, compared, pve }: Verification, passed: boolean): Readonly<Record<string, unknown>>[] {
  return [
    {
      type: 'verification',
      time: plan.createdAt,
      stack: plan.stack,
      endpoint: pve.endpoint,
      principal: pve.principal,
      fingerprints: plan.fingerprints,
    },
    ...plan.changes.map((change) => ({
      type: 'vm',
      ...comparedVm(change, compared),
      differences: change.differences,
    })),
    ...plan.warnings.map((warning) => ({ type: 'not-checked', warning })),
    { type: 'verdict', verified: passed },
  ];
}
