/** The first two stages of a gate: the file alone, then the cluster as this stack needs it. */
import { counted } from '../../base/count.ts';
import type { CheckName, Finding } from '../../engine/doctor/finding.ts';
import { isHealthy } from '../../engine/doctor/finding.ts';
import { AlreadyShown, type CommandHost } from '../command-host.ts';
import { findingsFor } from '../commands/doctor.ts';
import type { StackHost } from '../opened-stack.ts';
import { openReadStack, readStack } from '../stack-host.ts';
import type { StackOptions } from '../stack-options.ts';
import { renderFindings } from '../views/doctor-view.ts';
import { paintFor } from '../views/paint.ts';
import type { Proof } from './proof.ts';

export async function passValidate(proof: Proof, options: StackOptions, outerHost: CommandHost): Promise<StackHost> {
  return proof.gate.pass('validate', outerHost, async (host) => {
    const read = await readStack(options, host);
    proof.known.file = read.file;
    const stackHost = openReadStack(read, host);
    proof.known.stack = stackHost.stack.name;
    return { value: stackHost, words: `${read.file} is valid: ${counted(stackHost.stack.vms.length, 'VM')}.` };
  });
}

/** `unreachable`: nothing more can be asked. */
export type Health = 'well' | 'unwell' | 'unreachable';

const CONNECTION: ReadonlySet<CheckName> = new Set(['endpoint', 'certificate', 'token']);

export async function passDoctor(proof: Proof, stackHost: StackHost, outerHost: CommandHost): Promise<Health> {
  return proof.gate.pass('doctor', outerHost, async (host) => {
    const { findings, server, version } = await findingsFor(stackHost, host);
    Object.assign(proof.known, { ...(server && { server }), ...(version && { proxmox: version }) });
    const isWell = isHealthy(findings);
    const bad = findings.filter(({ verdict }) => verdict === 'bad');
    if (host.json) host.terminal.result(JSON.stringify({ type: 'doctor', ok: isWell, findings }));
    else if (!isWell) for (const line of renderFindings(findings, paintFor(host.stdout))) host.terminal.result(line);
    else host.terminal.log('info', `Doctor: nothing stands in the way${reservations(findings)}.`);
    const value = isWell ? 'well' : bad.some(({ check }) => CONNECTION.has(check)) ? 'unreachable' : 'unwell';
    const words = isWell
      ? `Nothing stands in the way${reservations(findings)}.`
      : bad.map(({ words: each }) => each).join(' ');
    return { value, words, isFailed: !isWell };
  });
}

/** An apply does not begin what the doctor says cannot end well. */
export function requireHealth(health: Health, host: CommandHost): void {
  if (health === 'well') return;
  host.terminal.log('error', 'Nothing was changed: put right what the doctor found, or apply without --verify.');
  throw new AlreadyShown();
}

function reservations(findings: readonly Finding[]): string {
  const warnings = findings.filter(({ verdict }) => verdict === 'warning').length;
  const unknown = findings.filter(({ verdict }) => verdict === 'unknown').length;
  const words = [
    ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
    ...(unknown > 0 ? [`${unknown} not checked`] : []),
  ];
  return words.length === 0 ? '' : `; ${words.join(', ')}: proxwright doctor`;
}
