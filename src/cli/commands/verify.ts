/** `proxwright verify`: is the last apply still true? Reads only, and can leave a log as evidence. */
import { resolve } from 'node:path';
import type { Change, Plan } from '../../engine/plan-types.ts';
import type { Pve } from '../../pve/index.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { connect } from '../connect.ts';
import { writePrivateFile } from '../plan-file.ts';
import { hasChanges, lookAndPlan } from '../read-only-plan.ts';
import { openStack } from '../stack-host.ts';
import type { StackOptions } from '../stack-options.ts';
import { paintFor } from '../views/paint.ts';
import { renderPlan } from '../views/plan-view.ts';

export interface VerifyOptions extends StackOptions {
  readonly only?: readonly string[];
  readonly evidence?: string;
}

export async function runVerify(options: VerifyOptions, host: CommandHost): Promise<ExitCode> {
  const stackHost = await openStack(options, host);
  const pve = await connect(stackHost, host);
  const { plan } = await lookAndPlan(stackHost, host, pve, { only: options.only ?? [] });
  return concludeVerification(plan, pve, host, options.evidence);
}

/** The gate: an empty plan passes, everything else is shown and fails. */
export async function concludeVerification(
  plan: Plan,
  pve: Pve,
  host: CommandHost,
  evidenceFile?: string,
): Promise<ExitCode> {
  const { terminal } = host;
  const passed = !hasChanges(plan);
  const evidence = evidenceLines(plan, passed, pve);
  if (evidenceFile !== undefined) {
    const text = evidence.map((line) => `${JSON.stringify(line)}\n`).join('');
    await writePrivateFile(resolve(host.directory, evidenceFile), text, evidenceFile);
  }
  if (host.json) for (const line of evidence) terminal.result(JSON.stringify(line));
  else if (passed) for (const change of plan.changes) terminal.result(verdictLine(change));
  else for (const line of renderPlan(plan, paintFor(host.stdout))) terminal.result(line);
  if (passed) terminal.success(`Verified: ${plan.changes.length} VMs are as the file says.`);
  else terminal.log('error', 'Not verified: the cluster is not as the file says.');
  return passed ? 0 : 1;
}

function verdictLine({ address, name, vmid, node, kind, restartPending }: Change): string {
  const verdict = kind === 'keep' ? 'left the file, kept' : 'as the file says';
  const pending = restartPending.length > 0 ? `; restart pending: ${restartPending.join(', ')}` : '';
  return `${address}  ${name} (VM ${vmid ?? '?'} on ${node}): ${verdict}${pending}`;
}

/** One line for the circumstances, one for each VM, one for the verdict. */
function evidenceLines(plan: Plan, passed: boolean, pve: Pve): Readonly<Record<string, unknown>>[] {
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
      differences,
      restartPending,
    })),
    ...plan.warnings.map((warning) => ({ type: 'not-checked', warning })),
    { type: 'verdict', verified: passed },
  ];
}
