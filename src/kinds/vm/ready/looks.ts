/**
 * The checks that readiness consists of, and how a wait fails. A look asks once and reports what it observed; `wait.ts`
 * decides when to look again. Everything here only reads, apart from commands that the stack configures.
 */
import { type Clock, throwIfCanceled } from '../../../base/clock.ts';
import { hasCode, ProxwrightError } from '../../../base/errors.ts';
import { advice, type Hint, setting } from '../../../base/hint.ts';
import type { Logger } from '../../../base/log.ts';
import type { PortProbe } from '../../../base/transport.ts';
import { printDuration } from '../../../base/values/units.ts';
import {
  type CallOptions,
  type GuestExecStatus,
  type GuestInterface,
  isConnectionTrouble,
  type Pve,
} from '../../../pve/index.ts';
import { expectedAddresses, hasAddress, type NicAddresses, reportedAddresses } from './addresses.ts';
import type { GuestCommand, ReadyChecks, ReadyTarget } from './checks.ts';

interface LookDeps {
  readonly pve: Pve;
  readonly clock: Clock;
  readonly log: Logger;
  readonly ports: PortProbe;
  readonly target: ReadyTarget;
  readonly checks: ReadyChecks;
  readonly signal: AbortSignal;
}

/** Undefined: the condition holds. */
type Verdict = Miss | undefined;

export interface Look {
  /** For messages: what is awaited. */
  readonly awaited: string;
  /** Error code of a wait that fails here. */
  readonly code: Miss['code'];
  look(): Promise<Verdict>;
  /** Whether earlier looks have shown it already. */
  isFulfilled?(): boolean;
}

/** What the looks have observed of the guest. */
interface GuestObserved {
  addresses: NicAddresses;
  /** How often its agent has answered in a row. */
  answers: number;
  /** The answer to the first question, until the look for the address has used it. */
  interfaces?: readonly GuestInterface[] | undefined;
}

const PROBE_TIMEOUT_MS = 3_000;
const FIRST_EXEC_PAUSE_MS = 500;
const LAST_EXEC_PAUSE_MS = 5_000;
/** Written by cloud-init at the very end of a first boot. */
const CLOUD_INIT_RESULT = '/var/lib/cloud/data/result.json';
const AGENT_SERVICE_STATE = ['systemctl', 'is-active', 'qemu-guest-agent'] as const;

export interface Looks {
  /** In the order in which they can succeed. */
  readonly looks: readonly Look[];
  /** The question that occupies Proxmox for three seconds while the agent is silent. */
  readonly firstQuestion: Look | undefined;
  /** Whether the VM runs, and has an agent that could answer. */
  readonly running: Look;
  /** Whether the guest is still up. */
  readonly pulse: Look;
  readonly guest: GuestObserved;
}

export function looksFor(deps: LookDeps): Looks {
  const { checks, target } = deps;
  const guest: GuestObserved = { addresses: expectedAddresses(target.nics), answers: 0 };
  const asksAgent = checks.agentPings > 0;
  const running = runningLook(deps);
  const looks = [
    // An agent that answers runs.
    asksAgent ? agentLook(deps, guest) : running,
    ...(asksAgent || needsAddress(deps) ? [addressLook(deps, guest)] : []),
    ...(checks.osInfo ? [osInfoLook(deps, guest)] : []),
    // All of these are answers of the agent, too, so often no extra ping is needed.
    ...(asksAgent ? [answersLook(deps, guest)] : []),
    ...checks.ports.map((port) => portLook(deps, guest, port, 'always')),
    ...checks.portsIfAddressed.map((port) => portLook(deps, guest, port, 'if addressed')),
    ...(checks.cloudInit ? [cloudInitLook(deps)] : []),
    ...(checks.agentService ? [agentServiceLook(deps)] : []),
    ...checks.commands.map((command) => commandLook(deps, command)),
  ];
  const firstQuestion = asksAgent ? looks[0] : undefined;
  return { looks, firstQuestion, running, pulse: asksAgent ? pulseLook(deps) : running, guest };
}

function runningLook(deps: LookDeps): Look {
  return asking(deps, 'the VM to run', 'NOT_RUNNING', async (miss) => {
    const { status, agent } = await vmOf(deps).status.current(options(deps));
    if (status !== 'running') return { ...miss('It is stopped.'), lost: 'guest' };
    if (deps.checks.agentPings > 0 && !agent) throw agentSwitchedOff(deps.target);
    return undefined;
  });
}

const AN_ANSWER = 'its guest agent to answer';

/** Asks for the addresses at once: Proxmox pings the agent before it passes any question on. */
function agentLook(deps: LookDeps, guest: GuestObserved): Look {
  return asking(deps, AN_ANSWER, 'AGENT_SILENT', async () => {
    guest.answers = 0;
    guest.interfaces = undefined;
    try {
      guest.interfaces = await askInterfaces(deps, guest);
    } catch (error) {
      // An agent that refuses the question is running; the look for the address reports what it says.
      if (!hasCode(error, 'SERVER_FAULT')) throw error;
    }
    return undefined;
  });
}

/** Without pauses: `settle` checks whether it lasts. */
function answersLook(deps: LookDeps, guest: GuestObserved): Look {
  const { agentPings } = deps.checks;
  const awaited = agentPings === 1 ? AN_ANSWER : `${AN_ANSWER} ${agentPings} times in a row`;
  const look = asking(deps, awaited, 'AGENT_SILENT', async () => {
    for (; guest.answers < agentPings; guest.answers++) await vmOf(deps).agent.ping(options(deps));
    return undefined;
  });
  return { ...look, isFulfilled: () => guest.answers >= agentPings };
}

function pulseLook(deps: LookDeps): Look {
  return asking(deps, AN_ANSWER, 'AGENT_SILENT', async () => {
    await vmOf(deps).agent.ping(options(deps));
    return undefined;
  });
}

/** The address in the stack is trusted only if the guest cannot be asked. */
function needsAddress({ checks, target }: LookDeps): boolean {
  const isPromised = target.nics.some((nic) => nic.slot === target.managedNic && nic.expected.length > 0);
  return (checks.address || checks.ports.length > 0) && !isPromised;
}

function addressLook(deps: LookDeps, guest: GuestObserved): Look {
  const { checks, target } = deps;
  const isAwaited = checks.address || checks.ports.length > 0;
  const nic = target.nics.find(({ slot }) => slot === target.managedNic);
  const awaited = nic
    ? `${nic.expected.length > 0 ? `the address ${nic.expected.join(' or ')}` : 'an address'} on ${nic.slot}`
    : 'an address';
  return asking(deps, awaited, 'NO_ADDRESS', async (miss) => {
    const answer = guest.interfaces ?? (await askInterfaces(deps, guest));
    guest.interfaces = undefined;
    guest.addresses = reportedAddresses(target.nics, answer);
    if (!isAwaited) return undefined;
    if (!nic) return miss('The VM has no NIC that could have an address.');
    if (hasAddress(nic, guest.addresses)) return undefined;
    const others = guest.addresses[nic.slot] ?? [];
    return miss(`The guest reports ${others.length > 0 ? others.join(', ') : 'none'} on ${nic.slot} (${nic.mac}).`);
  });
}

async function askInterfaces(deps: LookDeps, guest: GuestObserved): Promise<readonly GuestInterface[]> {
  const interfaces = await vmOf(deps).agent.networkGetInterfaces(options(deps));
  guest.answers++;
  return interfaces;
}

function osInfoLook(deps: LookDeps, guest: GuestObserved): Look {
  return asking(deps, 'its agent to describe the operating system', 'CHECK_FAILED', async () => {
    const info = await vmOf(deps).agent.getOsinfo(options(deps));
    guest.answers++;
    deps.log.log('debug', `${deps.target.address}: runs ${info['pretty-name'] ?? info.name ?? 'an unnamed system'}`);
    return undefined;
  });
}

function portLook(deps: LookDeps, guest: GuestObserved, port: number, when: 'always' | 'if addressed'): Look {
  return asking(deps, `port ${port} to answer`, 'PORT_CLOSED', async (miss) => {
    const [address] = guest.addresses[deps.target.managedNic ?? ''] ?? [];
    if (address === undefined) return when === 'always' ? miss('No address is known.') : undefined;
    const { signal } = deps;
    const isOpen = await deps.ports.isOpen(address, port, { timeoutMs: PROBE_TIMEOUT_MS, signal });
    return isOpen ? undefined : miss(`Nothing answers on ${address} port ${port}.`);
  });
}

function cloudInitLook(deps: LookDeps): Look {
  return asking(deps, 'cloud-init to finish', 'CHECK_FAILED', async (miss) => {
    const { content } = await vmOf(deps).agent.fileRead(CLOUD_INIT_RESULT, options(deps));
    const errors = cloudInitErrors(content);
    if (!errors) return miss(`Its agent answers, but ${CLOUD_INIT_RESULT} is not complete yet.`);
    // It has finished, which is all that is required; its errors are warnings.
    for (const error of errors) deps.log.log('warn', `${deps.target.address}: cloud-init reports: ${error}`);
    return undefined;
  });
}

/** Errors of cloud-init, or undefined while the text is not a complete result. */
function cloudInitErrors(text: string): string[] | undefined {
  try {
    const result: unknown = JSON.parse(text);
    if (typeof result !== 'object' || result === null || !('v1' in result)) return undefined;
    const { v1 } = result;
    const errors = typeof v1 === 'object' && v1 !== null && 'errors' in v1 ? v1.errors : [];
    return Array.isArray(errors) ? errors.map(String) : [];
  } catch {
    return undefined;
  }
}

function commandLook(deps: LookDeps, command: GuestCommand): Look {
  const shown = command.join(' ');
  return asking(deps, `"${shown}" in the guest to end with 0`, 'CHECK_FAILED', async (miss) => {
    const status = await execution(deps, command);
    // Its output is not shown, because it may be secret.
    return status.exitcode === 0 ? undefined : miss(`Its agent answers, but the command ended with ${endOf(status)}.`);
  });
}

/** An agent that was started by hand answers too, and is gone after the next boot. */
function agentServiceLook(deps: LookDeps): Look {
  return asking(deps, 'its service qemu-guest-agent to be active', 'CHECK_FAILED', async (miss) => {
    const status = await execution(deps, AGENT_SERVICE_STATE);
    const [word = ''] = (status['out-data'] ?? '').trim().split('\n');
    if (word === 'active') return undefined;
    const said = word === '' ? `nothing, and ended with ${endOf(status)}` : `"${word}"`;
    return miss(`Its agent answers, but "${AGENT_SERVICE_STATE.join(' ')}" in the guest says ${said}.`);
  });
}

/** Runs a command in the guest and waits for its end. */
async function execution(deps: LookDeps, command: GuestCommand): Promise<GuestExecStatus> {
  const { agent } = vmOf(deps);
  const pid = await agent.exec(command, {}, options(deps));
  for (let pauseMs = FIRST_EXEC_PAUSE_MS; ; pauseMs = Math.min(LAST_EXEC_PAUSE_MS, pauseMs * 1.5)) {
    await deps.clock.sleep(pauseMs, deps.signal);
    const status = await agent.execStatus(pid, options(deps));
    if (status.exited) return status;
  }
}

const endOf = ({ exitcode, signal }: GuestExecStatus) =>
  exitcode === undefined ? `signal ${signal ?? 'unknown'}` : `${exitcode}`;

type MissWith = (observed: string) => Miss;

/** A look whose question may fail temporarily; an error that cannot pass is thrown. */
function asking(deps: LookDeps, awaited: string, code: Miss['code'], ask: (miss: MissWith) => Promise<Verdict>): Look {
  return {
    awaited,
    code,
    look: async () => {
      try {
        return await ask((observed) => ({ code, awaited, observed }));
      } catch (error) {
        // A question that the end of the wait cut short has no answer, whatever its error.
        throwIfCanceled(deps.signal);
        if (!(error instanceof ProxwrightError)) throw error;
        return { ...missOf(error, awaited, code), cause: error };
      }
    },
  };
}

function missOf(error: ProxwrightError, awaited: string, code: Miss['code']): Miss {
  if (error.code === 'AGENT_UNAVAILABLE') {
    return { code: 'AGENT_SILENT', awaited, observed: 'Its guest agent does not answer.', lost: 'agent' };
  }
  if (error.code === 'NOT_RUNNING') return { code: 'NOT_RUNNING', awaited, observed: 'It is stopped.', lost: 'guest' };
  // The agent's refusals have this code: a file that does not exist yet, an unknown command.
  if (error.code === 'SERVER_FAULT' || isConnectionTrouble(error)) {
    return { code, awaited, observed: error.diagnostic.detail };
  }
  throw error;
}

const vmOf = ({ pve, target }: LookDeps) => pve.node(target.node).vm(target.vmid);
const options = ({ signal }: LookDeps): CallOptions => ({ signal });

type ReadyCode = 'AGENT_SILENT' | 'NO_ADDRESS' | 'PORT_CLOSED' | 'CHECK_FAILED' | 'NOT_RUNNING';

/** A condition that does not hold yet. */
export interface Miss {
  readonly code: ReadyCode;
  /** What is awaited: `an address on net0`. */
  readonly awaited: string;
  /** What was observed instead, as a sentence. */
  readonly observed: string;
  /** The guest or its agent is gone: earlier observations no longer count. */
  readonly lost?: 'guest' | 'agent' | undefined;
  readonly cause?: ProxwrightError | undefined;
}

const HINTS: Readonly<Record<ReadyCode, Hint | string>> = {
  AGENT_SILENT: advice`Check the console of the VM, and that qemu-guest-agent is installed and running in it. If it has no agent: ${setting('ready', { agent: false })}`,
  NO_ADDRESS: advice`Check bridge, VLAN and DHCP of that NIC, or give it a static address: nics.<slot>.ipv4. To continue without an address: ${setting('ready', { address: false })}`,
  PORT_CLOSED:
    'Check that the service listens in the guest, and that no firewall blocks the connection from this machine.',
  CHECK_FAILED: 'Check the guest: it answers, but this check failed.',
  NOT_RUNNING: 'Check the last tasks of the VM and its console: something stopped it.',
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

/** Waiting is pointless: QEMU was started without the port that the agent uses. */
function agentSwitchedOff(target: ReadyTarget): ProxwrightError {
  return new ProxwrightError({
    code: 'AGENT_SILENT',
    where: { address: target.address, step: 'ready' },
    detail: `VM ${target.vmid} on ${target.node} does not have the guest agent enabled, so it cannot answer. The VM is kept.`,
    hint: advice`Enable it (${setting('agent', { enabled: true })}), or do not wait for it: ${setting('ready', { agent: false })}`,
  });
}
