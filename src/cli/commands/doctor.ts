/** `proxwright doctor`: the server, the token and the cluster as this stack needs them, each finding with one remedy. */
import { isCanceled, isFamily, ProxwrightError } from '../../base/errors.ts';
import { connectionFinding } from '../../engine/doctor/checks/connection.ts';
import { diagnose } from '../../engine/doctor/diagnose.ts';
import type { Examination } from '../../engine/doctor/examination.ts';
import { examine } from '../../engine/doctor/examine.ts';
import { type Finding, isHealthy } from '../../engine/doctor/finding.ts';
import { checkUpgrade } from '../../engine/doctor/upgrade/checks.ts';
import { WireWatch } from '../../engine/doctor/wire-times.ts';
import type { Pve } from '../../pve/index.ts';
import { recallState } from '../../state/recall.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { connect, trustSeen } from '../connect.ts';
import type { StackHost } from '../opened-stack.ts';
import { resolveSecrets } from '../secrets.ts';
import { openStack } from '../stack-host.ts';
import type { StackOptions } from '../stack-options.ts';
import { terraformFilesNear } from '../terraform-files.ts';
import { renderFindings } from '../views/doctor-view.ts';
import { paintFor } from '../views/paint.ts';

export interface DoctorOptions extends StackOptions {
  readonly upgradeTo?: string;
}

export async function runDoctor(options: DoctorOptions, host: CommandHost): Promise<ExitCode> {
  const target = options.upgradeTo === undefined ? undefined : releaseOf(options.upgradeTo);
  const stackHost = await openStack(options, host);
  const { findings } = await findingsFor(stackHost, host, target);
  const isWell = isHealthy(findings);
  if (host.json) host.terminal.result(JSON.stringify({ stack: stackHost.stack.name, ok: isWell, findings }));
  else for (const line of renderFindings(findings, paintFor(host.stdout))) host.terminal.result(line);
  return isWell ? 0 : 1;
}

/** What was found, and of whom; without an answer of the server there is one finding: why. */
export interface Diagnosis {
  readonly findings: readonly Finding[];
  readonly server?: Pick<Pve, 'endpoint' | 'principal'>;
  /** The release of Proxmox VE. */
  readonly version?: string;
}

export async function findingsFor(stackHost: StackHost, host: CommandHost, target?: string): Promise<Diagnosis> {
  const wire = new WireWatch(host.clock);
  let pve: Pve | undefined;
  try {
    pve = await connect(stackHost, host, { watch: (transport) => wire.watch(transport) });
    const { state } = await recallState(stackHost.store, stackHost.stack.name);
    const secrets = await resolveSecrets(stackHost, host);
    const trust = trustSeen(stackHost, host);
    const examination = await examine({
      pve,
      stack: stackHost.stack,
      state,
      secrets,
      now: host.clock.now(),
      trust,
      wire,
    });
    const upgrade = target === undefined ? [] : await upgradeFindings(pve, examination, stackHost, target);
    const { endpoint, principal, observed } = examination;
    const findings = [...diagnose(examination), ...upgrade];
    return { findings, server: { endpoint, principal }, version: observed.version.version };
  } catch (error) {
    if (!(error instanceof ProxwrightError) || isCanceled(error) || isFamily(error, 'bug')) throw error;
    return { findings: [connectionFinding(error)] };
  } finally {
    await pve?.close();
  }
}

async function upgradeFindings(
  pve: Pve,
  { observed, stack, principal, now }: Examination,
  { directory }: StackHost,
  target: string,
): Promise<Finding[]> {
  const [roles, acl, files] = await Promise.all([pve.access.roles(), pve.access.acl(), terraformFilesNear(directory)]);
  const to = { version: target };
  return checkUpgrade({ from: observed.version, to, stack, observed, now, principal, roles, acl, files });
}

/** `9` is its first release. */
function releaseOf(text: string): string {
  if (/^\d+$/.test(text)) return `${text}.0`;
  if (/^\d+\.\d+(\.\d+)?$/.test(text)) return text;
  throw new ProxwrightError({
    code: 'BAD_VALUE',
    where: { file: '--upgrade-to' },
    detail: `"${text}" is not a release of Proxmox VE.`,
    hint: 'For example: --upgrade-to 9',
  });
}
