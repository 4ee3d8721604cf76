/** `proxwright verify`: is the last apply still true? Reads only, and can leave a log as evidence. */
import { resolve } from 'node:path';
import { counted, inNumber } from '../../base/count.ts';
import { evidenceOf } from '../../engine/evidence.ts';
import type { Change, Plan } from '../../engine/plan-types.ts';
import type { Pve } from '../../pve/index.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { hasChanges, openAndLook } from '../read-only-plan.ts';
import type { StackOptions } from '../stack-options.ts';
import { paintFor } from '../views/paint.ts';
import { renderPlan } from '../views/plan-view.ts';
import { writePrivateFile } from '../written-file.ts';

export interface VerifyOptions extends StackOptions {
  readonly only?: readonly string[];
  readonly evidence?: string;
}

export async function runVerify(options: VerifyOptions, host: CommandHost): Promise<ExitCode> {
  const sight = await openAndLook(options, host, { only: options.only ?? [] });
  const evidence = evidenceOf(sight);
  return concludeVerification({ plan: sight.plan, evidence, pve: sight.pve }, host, options.evidence);
}

/** What a verdict is about. */
export interface Verification {
  readonly plan: Plan;
  readonly evidence: ReturnType<typeof evidenceOf>;
  readonly pve: Pick<Pve, 'endpoint' | 'principal'>;
}

/** The gate: an empty plan passes, everything else is shown and fails. */
export async function concludeVerification(
  verification: Verification,
  host: CommandHost,
  evidenceFile?: string,
): Promise<ExitCode> {
  const { terminal } = host;
  const { plan } = verification;
  const passed = !hasChanges(plan);
  const evidence = evidenceLines(verification, passed);
  if (evidenceFile !== undefined) {
    const text = evidence.map((line) => `${JSON.stringify(line)}\n`).join('');
    await writePrivateFile(resolve(host.directory, evidenceFile), text, evidenceFile);
  }
  if (host.json) for (const line of evidence) terminal.result(JSON.stringify(line));
  else if (passed) for (const change of plan.changes) terminal.result(verdictLine(change));
  else for (const line of renderPlan(plan, paintFor(host.stdout))) terminal.result(line);
  const kept = plan.changes.filter(({ kind }) => kind === 'keep').length;
  const number = plan.changes.length - kept;
  if (passed) {
    terminal.success(`Verified: ${counted(number, 'VM')} ${inNumber(number, 'is', 'are')} as the file says.`);
  } else {
    terminal.log('error', 'Not verified: the cluster is not as the file says. To make it so: proxwright apply');
  }
  if (evidenceFile !== undefined) terminal.log('info', `What was compared, field by field, is in ${evidenceFile}.`);
  return passed ? 0 : 1;
}

function verdictLine({ address, name, vmid, node, kind, restartPending }: Change): string {
  const verdict = kind === 'keep' ? 'left the file, kept' : 'as the file says';
  const pending = restartPending.length > 0 ? `; restart pending: ${restartPending.join(', ')}` : '';
  return `${address}  ${name} (VM ${vmid ?? '?'} on ${node}): ${verdict}${pending}`;
}

/** One line for the circumstances, one for each VM with every field that was compared, one for the verdict. */
function evidenceLines({ plan, evidence, pve }: Verification, passed: boolean): Readonly<Record<string, unknown>>[] {
  return [
    {
      type: 'verification',
      time: plan.createdAt,
      stack: plan.stack,
      endpoint: pve.endpoint,
      principal: pve.principal,
      fingerprints: plan.fingerprints,
    },
    ...plan.changes.map(({ address, name, vmid, node, kind, differences, restartPending }) => ({
      type: 'vm',
      address,
      name,
      vmid: vmid ?? null,
      node,
      verdict: kind === 'none' ? 'as the file says' : kind,
      ...evidence.get(address),
      differences,
      restartPending,
    })),
    ...plan.warnings.map((warning) => ({ type: 'not-checked', warning })),
    { type: 'verdict', verified: passed },
  ];
}
