/** `proxwright doctor`: checks server, token and cluster for this stack; each finding comes with a remedy. */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { isCanceled, isFamily, ProxwrightError } from '../../../base/errors.ts';
import { connectionFinding } from '../../../engine/doctor/checks/connection.ts';
import { diagnose } from '../../../engine/doctor/diagnose.ts';
import { type Examination, WireWatch } from '../../../engine/doctor/examination.ts';
import { examine } from '../../../engine/doctor/examine.ts';
import { checkUpgrade } from '../../../engine/doctor/upgrade/checks.ts';
import type { TextFile } from '../../../engine/doctor/upgrade/providers.ts';
import { type Finding, isHealthy } from '../../../kinds/doctor/finding.ts';
import { findSimulator } from '../../../local/simulator.ts';
import type { Pve } from '../../../pve/index.ts';
import { readRecorded } from '../../../state/recorded.ts';
import { badOption, type CommandDeps, type ExitCode, type StackOptions } from '../../command.ts';
import { connect, serverOf, trustSeen } from '../../stack/connect.ts';
import { type OpenedStack, openStack } from '../../stack/open.ts';
import { resolveSecrets } from '../../stack/secrets.ts';
import { doctorView } from '../../views/check/doctor.ts';

export interface DoctorOptions extends StackOptions {
  readonly upgradeTo?: string;
}

export async function runDoctor(options: DoctorOptions, deps: CommandDeps): Promise<ExitCode> {
  const target = options.upgradeTo === undefined ? undefined : releaseOf(options.upgradeTo);
  const opened = await openStack(options, deps);
  const { findings } = await findingsFor(opened, deps, target);
  const isWell = isHealthy(findings);
  doctorView(deps).findings(opened.stack.name, isWell, findings);
  return isWell ? 0 : 1;
}

/** The findings and the server they are about. If the server does not answer, the only finding says why. */
export interface Diagnosis {
  readonly findings: readonly Finding[];
  readonly server?: Pick<Pve, 'endpoint' | 'principal'>;
  /** The release of Proxmox VE. */
  readonly version?: string;
}

export async function findingsFor(opened: OpenedStack, deps: CommandDeps, target?: string): Promise<Diagnosis> {
  const wire = new WireWatch(deps.clock);
  let pve: Pve | undefined;
  try {
    pve = await connect(opened, deps, { watch: (transport) => wire.watch(transport) });
    wire.speed = (await findSimulator(await serverOf(pve, opened, deps)))?.speed ?? 1;
    const { state } = await readRecorded(opened.store, opened.stack.name);
    const secrets = await resolveSecrets(opened, deps);
    const trust = trustSeen(opened, deps);
    const examination = await examine({
      pve,
      stack: opened.stack,
      state,
      secrets,
      now: deps.clock.now(),
      trust,
      wire,
    });
    const upgrade = target === undefined ? [] : await upgradeFindings(pve, examination, opened, target);
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
  { directory }: OpenedStack,
  target: string,
): Promise<Finding[]> {
  const [roles, acl, files] = await Promise.all([pve.access.roles(), pve.access.acl(), terraformFilesNear(directory)]);
  const to = { version: target };
  return checkUpgrade({ from: observed.version, to, stack, observed, now, principal, roles, acl, files });
}

/** `9` means its first release. */
function releaseOf(text: string): string {
  if (/^\d+$/.test(text)) return `${text}.0`;
  if (/^\d+\.\d+(\.\d+)?$/.test(text)) return text;
  throw badOption('--upgrade-to', `"${text}" is not a release of Proxmox VE.`, 'For example: --upgrade-to 9');
}

const MOST_FILES = 200;
const TERRAFORM_FILE = /\.tf$|^\.terraform\.lock\.hcl$/;

/** Terraform files in the directory of the stack file, in the one above, and one level below. Unreadable ones are skipped. */
async function terraformFilesNear(directory: string): Promise<TextFile[]> {
  const list = (path: string) => readdir(path, { withFileTypes: true }).catch(() => []);
  const entries = await list(directory);
  const below = entries.filter((entry) => entry.isDirectory() && !/^\.|^node_modules$/.test(entry.name));
  const places = [directory, join(directory, '../..'), ...below.map(({ name }) => join(directory, name))];
  const found = await Promise.all(
    places.map(async (place) =>
      (await list(place))
        .filter((entry) => entry.isFile() && TERRAFORM_FILE.test(entry.name))
        .map(({ name }) => join(place, name)),
    ),
  );
  const texts = found
    .flat()
    .slice(0, MOST_FILES)
    .map(async (path): Promise<TextFile[]> => {
      const text = await readFile(path, 'utf8').catch(() => undefined);
      return text === undefined ? [] : [{ name: relative(directory, path), text }];
    });
  return (await Promise.all(texts)).flat();
}
