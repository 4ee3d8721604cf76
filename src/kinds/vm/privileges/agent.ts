/** What talking to the guest agent needs, by what is asked of it. */
import type { OneOf, PrivilegeRules } from './need.ts';

export type AgentRequest =
  /** Whether it is there, and what the guest is like. */
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
