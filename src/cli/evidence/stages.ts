/** Stages that `apply --verify` and `verify` share: the file, the cluster, and the judgement of a plan that must be empty. */

import { counted, inNumber } from '../../base/values/units.ts';
import { differingOf } from '../../engine/evidence/record.ts';
import { pendingRestarts } from '../../kinds/change.ts';
import { type CheckName, isHealthy } from '../../kinds/doctor/finding.ts';
import { AlreadyShown, type CommandDeps, type ExitCode, type StackOptions } from '../command.ts';
import { findingsFor } from '../commands/check/doctor.ts';
import { type OpenedStack, openReadStack } from '../stack/open.ts';
import { hasChanges } from '../stack/planning.ts';
import { readStack } from '../stack/read.ts';
import { readyWords } from '../views/check/doctor.ts';
import { type Verification, verifyView } from '../views/check/verify.ts';
import { countedKinds } from '../views/run/counted-kinds.ts';
import type { StageEnd } from './gate.ts';
import type { Proof } from './proof.ts';

export async function passValidate(proof: Proof, options: StackOptions, outerDeps: CommandDeps): Promise<OpenedStack> {
  return proof.gate.pass('validate', outerDeps, async (deps) => {
    const read = await readStack(options, deps);
    proof.known.file = read.file;
    const opened = await openReadStack(read, deps);
    proof.known.stack = opened.stack.name;
    return { value: opened, words: `${read.file} is valid: ${counted(opened.stack.vms.length, 'VM')}.` };
  });
}

/** `unreachable`: the server cannot be asked for more. */
export type Health = 'well' | 'unwell' | 'unreachable';

const CONNECTION: ReadonlySet<CheckName> = new Set(['endpoint', 'certificate', 'token']);

export async function passDoctor(proof: Proof, opened: OpenedStack, outerDeps: CommandDeps): Promise<Health> {
  return proof.gate.pass('doctor', outerDeps, async (deps) => {
    const { findings, server, version } = await findingsFor(opened, deps);
    Object.assign(proof.known, { ...(server && { server }), ...(version && { proxmox: version }) });
    const isWell = isHealthy(findings);
    const bad = findings.filter(({ verdict }) => verdict === 'bad');
    verifyView(deps).doctor(isWell, findings);
    const value = isWell ? 'well' : bad.some(({ check }) => CONNECTION.has(check)) ? 'unreachable' : 'unwell';
    const words = isWell ? `${readyWords(findings)}.` : bad.map(({ words: each }) => each).join(' ');
    return { value, words, isFailed: !isWell };
  });
}

/** An apply does not start what the doctor says will fail. */
export function requireHealth(health: Health, deps: CommandDeps): void {
  if (health === 'well') return;
  deps.terminal.log('error', 'Nothing was changed. Correct what the doctor found, or apply without --verify.');
  throw new AlreadyShown();
}

/** An empty plan passes; any other is shown and fails. */
export function judged(verification: Verification, deps: CommandDeps): StageEnd<ExitCode> {
  const { plan } = verification;
  const switched = plan.changes.flatMap(({ address, outside = [] }) =>
    outside.flatMap(({ path, actual }) => (path === 'power' ? [`${address} is ${actual}`] : [])),
  );
  const passed = !hasChanges(plan) && switched.length === 0;
  const pending = pendingRestarts(plan.changes);
  const waiting = pending.length === 0 ? '' : ` Restart pending: ${pending.join(', ')}.`;
  const managed = plan.changes.filter(({ kind }) => kind !== 'keep').map(({ address }) => address);
  const differing = differingOf(plan).map(({ address }) => address);
  const words = passed
    ? `${countedKinds(managed)} ${inNumber(managed.length, 'matches', 'match')} the file.${waiting}`
    : [
        ...(differing.length > 0 ? [`Not empty: ${differing.join(', ')}.`] : []),
        ...(switched.length > 0 ? [`Switched outside Proxwright: ${switched.join(', ')}.`] : []),
      ].join(' ') + waiting;
  verifyView(deps).verdict(verification, passed, words);
  return { value: passed ? 0 : 1, words, isFailed: !passed };
}
