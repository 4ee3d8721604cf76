/** How a wait for readiness ends badly: what was waited for, how long, what was seen last, and that the VM is kept. */
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, type Hint, setting } from '../../../base/hint.ts';
import { printDuration } from '../../../base/units.ts';
import type { ReadyTarget } from './checks.ts';

export type ReadyCode = 'AGENT_SILENT' | 'NO_ADDRESS' | 'PORT_CLOSED' | 'CHECK_FAILED' | 'NOT_RUNNING';

/** Something that is not so yet. */
export interface Miss {
  readonly code: ReadyCode;
  /** What is waited for: `an address on net0`. */
  readonly awaited: string;
  /** What was found instead, as a sentence. */
  readonly observed: string;
  /** Nobody is there: whatever was seen of the guest before counts no more. */
  readonly lost?: 'guest' | 'agent' | undefined;
  readonly cause?: ProxwrightError | undefined;
}

const HINTS: Readonly<Record<ReadyCode, Hint | string>> = {
  AGENT_SILENT: advice`Look at the console of the VM; check that qemu-guest-agent is installed and running in it. Where no agent is meant to answer: ${setting('ready', { agent: false })}`,
  NO_ADDRESS: advice`Check bridge, VLAN and DHCP of that NIC, or give it an address of its own: nics.<slot>.ipv4. To go on without one: ${setting('ready', { address: false })}`,
  PORT_CLOSED: 'Check that the service listens in the guest and that no firewall stands between it and here.',
  CHECK_FAILED: 'Look into the guest: the check itself is what did not hold.',
  NOT_RUNNING: 'Look at the last tasks of the VM and its console: something switched it off.',
};

export function notReady(target: ReadyTarget, miss: Miss, waitedMs: number): ProxwrightError {
  const { code, awaited, observed, cause } = miss;
  const init = {
    where: { address: target.address, step: 'ready' },
    detail: `VM ${target.vmid} on ${target.node}: waited ${printDuration(waitedMs)} for ${awaited}. ${observed} The VM is kept.`,
    hint: HINTS[code],
    ...(cause && { cause }),
  };
  return code === 'NOT_RUNNING' ? new ProxwrightError({ ...init, code }) : new ProxwrightError({ ...init, code });
}

/** Waiting would be in vain: QEMU was started without the device the agent talks through. */
export function agentSwitchedOff(target: ReadyTarget): ProxwrightError {
  return new ProxwrightError({
    code: 'AGENT_SILENT',
    where: { address: target.address, step: 'ready' },
    detail: `VM ${target.vmid} on ${target.node} has no guest agent switched on, so none can answer. The VM is kept.`,
    hint: advice`Switch it on (${setting('agent', { enabled: true })}), or do not wait for it: ${setting('ready', { agent: false })}`,
  });
}
