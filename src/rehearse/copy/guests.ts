/** What runs in the VMs of the copy: how long it takes to boot, whether an agent answers, which ports are open. */
import type { ResolvedStack } from '../../kinds/stack.ts';
import type { ResolvedVm } from '../../kinds/vm/stack.ts';
import type { WorldFile } from '../../simulator/index.ts';

export type GuestFile = NonNullable<WorldFile['guests']>[string];

/** How long a guest takes from power-on until everything in it answers, and to shut down. */
export interface GuestTimes {
  readonly bootMs: number;
  readonly shutdownMs: number;
}

/** Default without recorded runs of this stack: a cloud image on a host with KVM. */
export const DEFAULT_GUEST: GuestTimes = { bootMs: 20_000, shutdownMs: 5_000 };

const TALOS_PORT = 50_000;
const SSH_PORT = 22;

/** A guest that meets the conditions that the VMs wait for. */
export function guestFor(vms: readonly ResolvedVm[], { bootMs, shutdownMs }: GuestTimes): GuestFile {
  const ports = vms.flatMap(({ fields }) => fields.ready?.tcp ?? []);
  const isTalos = vms.length > 0 && vms.every(({ fields }) => fields.guest === 'talos');
  return {
    boot_ms: bootMs,
    agent_ms: isTalos && !vms.some(({ fields }) => fields.ready?.agent) ? 'none' : 0,
    network_ms: 0,
    shutdown_ms: shutdownMs,
    cloud_init: true,
    ports: [...new Set([SSH_PORT, TALOS_PORT, ...ports])].sort((a, b) => a - b),
  };
}

/** A neighbour whose agent did not answer. */
export const SILENT_GUEST: GuestFile = { boot_ms: 0, agent_ms: 'none', network_ms: 0, ports: [] };
/** A neighbour whose agent answered. */
export const ANSWERING_GUEST: GuestFile = { boot_ms: 0, agent_ms: 0, network_ms: 0, ports: [] };

/** The VMs that boot a template, by the name or id that the stack uses for it. */
export function clonesOf(stack: ResolvedStack, names: readonly (string | number | undefined)[]): ResolvedVm[] {
  return stack.vms.filter(
    ({ fields }) => fields.clone && names.some((name) => String(name) === String(fields.clone?.template)),
  );
}
