/** What `verify` and `apply --verify` show: the doctor in brief, and the verdict with everything that was compared. */

import { comparedVm } from '../../../engine/evidence/record.ts';
import type { Change, Plan } from '../../../kinds/change.ts';
import type { Finding } from '../../../kinds/doctor/finding.ts';
import type { Evidence } from '../../../kinds/shown.ts';
import type { Pve } from '../../../pve/index.ts';
import type { Terminal } from '../../terminal.ts';
import { renderPlan } from '../plan/plan.ts';
import { chooseView, type ViewDeps } from '../view.ts';
import { readyWords, renderFindings } from './doctor.ts';

/** A plan that must be empty, and its inputs. */
export interface Verification {
  readonly plan: Plan;
  readonly compared: ReadonlyMap<string, Evidence>;
  readonly server: Pick<Pve, 'endpoint' | 'principal'>;
}

export interface VerifyView {
  doctor(isHealthy: boolean, findings: readonly Finding[]): void;
  /** `words` sums up a verification that passed. */
  verdict(verification: Verification, passed: boolean, words: string): void;
}

export function verifyView(deps: ViewDeps): VerifyView {
  return chooseView<VerifyView>(deps, {
    human: ({ terminal, print, paint }) => ({
      doctor: (isHealthy, findings) => {
        if (!isHealthy) return print(renderFindings(findings, paint));
        const ready = readyWords(findings);
        terminal.log('info', `Doctor: ${ready}${ready.includes(';') ? ' (details: proxwright doctor)' : ''}.`);
      },
      verdict: ({ plan }, passed, words) => {
        print(passed ? plan.changes.map(matchLine) : renderPlan(plan, paint));
        report(passed, words, terminal);
      },
    }),
    json: ({ terminal, print }) => ({
      doctor: (ok, findings) => print({ type: 'doctor', ok, findings }),
      verdict: (verification, passed, words) => {
        for (const line of comparedLines(verification, passed)) print(line);
        report(passed, words, terminal);
      },
    }),
  });
}

function report(passed: boolean, words: string, terminal: Terminal): void {
  if (passed) terminal.success(`Verified: ${words}`);
  else terminal.log('error', `Not verified: the cluster does not match the file. ${words}`);
}

function matchLine({ address, name, vmid, node, kind, restartPending }: Change): string {
  const verdict = kind === 'keep' ? 'no longer in the file, kept' : 'matches the file';
  const pending = restartPending.length > 0 ? `; restart pending: ${restartPending.join(', ')}` : '';
  return `${address}  ${name} (${vmid === undefined ? '' : `VM ${vmid} `}on ${node}): ${verdict}${pending}`;
}

/** One line for the circumstances, one for each VM with every field that was compared, one for the verdict. */
function comparedLines({ plan, compared, server }: Verification, passed: boolean): Readonly<Record<string, unknown>>[] {
  return [
    {
      type: 'verification',
      time: plan.createdAt,
      stack: plan.stack,
      endpoint: server.endpoint,
      principal: server.principal,
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
