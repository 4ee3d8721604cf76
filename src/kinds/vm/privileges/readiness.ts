/** What waiting for a guest needs. The map is total: a new check must say what it requests from the agent. */

import { type AclPath, type Need, need, type OneOf, type PrivilegeRules } from '../../privileges/need.ts';
import { managedNic, type ReadyChecks, staticAddresses } from '../ready/checks.ts';
import type { ReadyInput } from '../steps.ts';

interface ReadinessInput extends ReadyInput {
  /** NICs it will have. */
  readonly slots: readonly string[];
  readonly paths: OneOf<AclPath>;
  readonly rules: PrivilegeRules;
}

interface AgentUse {
  readonly request: AgentRequest;
  /** Field of the file that needs it. */
  readonly field: string;
}

type Uses = { readonly [Check in keyof ReadyChecks]: (checks: ReadyChecks, input: ReadinessInput) => AgentUse | false };

const NONE = () => false as const;

const USES: Uses = {
  agentPings: ({ agentPings }) => agentPings > 0 && { request: 'question', field: 'ready.agent' },
  address: ({ address }, input) => address && !isPromised(input) && { request: 'question', field: 'ready.address' },
  osInfo: ({ osInfo }) => osInfo && { request: 'question', field: 'ready.os_info' },
  cloudInit: ({ cloudInit }) => cloudInit && { request: 'file-read', field: 'ready.cloud_init' },
  agentService: ({ agentService }) => agentService && { request: 'exec', field: 'ready.agent_service' },
  commands: ({ commands }) => commands.length > 0 && { request: 'exec', field: 'ready.exec' },
  ports: ({ ports }, input) => ports.length > 0 && !isPromised(input) && { request: 'question', field: 'ready.tcp' },
  portsIfAddressed: NONE,
  settleMs: NONE,
  timeoutMs: NONE,
};

export function readinessNeeds(input: ReadinessInput): Need[] {
  const { checks, paths, rules } = input;
  const uses = Object.values(USES).flatMap((use) => use(checks, input) || []);
  return [
    need('VM.Audit', paths, { field: 'power' }),
    ...uses.map(({ request, field }) => need(agentPrivileges(request, rules), paths, { field })),
  ];
}

/** The stack has the address, so the guest need not be asked. */
function isPromised({ nics, slots }: ReadinessInput): boolean {
  const slot = managedNic({ nics }, slots);
  return slot !== undefined && staticAddresses(nics?.[slot]).length > 0;
}

export type AgentRequest =
  /** Ping, and questions about the guest. */
  | 'question'
  | 'file-read'
  /** A program in the guest. */
  | 'exec';

const RIGHTS: Readonly<Record<AgentRequest, OneOf<string>>> = {
  question: ['VM.GuestAgent.Audit', 'VM.GuestAgent.Unrestricted'],
  'file-read': ['VM.GuestAgent.FileRead', 'VM.GuestAgent.Unrestricted'],
  exec: ['VM.GuestAgent.Unrestricted'],
};

/** Before Proxmox VE 9 one privilege covered it all. */
export function agentPrivileges(request: AgentRequest, { agent }: PrivilegeRules): OneOf<string> {
  return agent === 'VM.Monitor' ? ['VM.Monitor'] : RIGHTS[request];
}
