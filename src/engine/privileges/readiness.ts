/** What waiting for a guest needs: the map is total, so that a new check says what it asks of the agent. */
import type { VmFields } from '../../resources/vm/fields/index.ts';
import { type AgentRequest, agentPrivileges } from '../../resources/vm/privileges/agent.ts';
import { type AclPath, type Need, need, type OneOf, type PrivilegeRules } from '../../resources/vm/privileges/need.ts';
import { managedNic, type ReadyChecks, readyChecks, staticAddresses } from '../ready/checks.ts';

export interface ReadinessInput {
  readonly fields: VmFields;
  /** Network cards it will have. */
  readonly slots: readonly string[];
  readonly paths: OneOf<AclPath>;
  readonly rules: PrivilegeRules;
}

interface AgentUse {
  readonly request: AgentRequest;
  /** Field of the file that asks for it. */
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
  const { fields, paths, rules } = input;
  const checks = readyChecks(fields, 0);
  const uses = Object.values(USES).flatMap((use) => use(checks, input) || []);
  return [
    need('VM.Audit', paths, { field: 'power' }),
    ...uses.map(({ request, field }) => need(agentPrivileges(request, rules), paths, { field })),
  ];
}

/** The stack gives the address itself, so nobody has to be asked for it. */
function isPromised({ fields, slots }: ReadinessInput): boolean {
  const slot = managedNic(fields, slots);
  return slot !== undefined && staticAddresses(fields.nics?.[slot]).length > 0;
}
