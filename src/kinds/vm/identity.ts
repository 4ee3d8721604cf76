/**
 * Is this VM the one that Proxwright created? An id can be reused, so a VM is the same only if both id and uuid match.
 * Everything that compares VMs does so here: plan, actions, recovery, import and the provider.
 */
import type { Where } from '../../base/diagnostics.ts';
import type { ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import { foreign } from '../safety/foreign.ts';
import { isHalfMade, type VmObserved } from './observed.ts';

export interface VmIdentity {
  readonly vmid: number;
  readonly uuid?: string | undefined;
}

/** Case does not count: Proxmox keeps `smbios1` as it was typed. A VM without a uuid has no identity. */
export function sameVm(one: VmIdentity, other: VmIdentity): boolean {
  return one.vmid === other.vmid && one.uuid !== undefined && one.uuid.toLowerCase() === other.uuid?.toLowerCase();
}

/** `VM 101 on pve1`. */
export function vmName({ vmid, node }: { readonly vmid: number; readonly node: string }): string {
  return `VM ${vmid} on ${node}`;
}

export interface Mismatch {
  readonly address: string;
  readonly recorded: VmIdentity;
  readonly observed: Pick<VmObserved, 'vmid' | 'node' | 'uuid' | 'current'> & Partial<Pick<VmObserved, 'lock'>>;
  /** Whether this run had sent a change to the id before. */
  readonly acted?: boolean | undefined;
  /** Instead of the plain address. */
  readonly where?: Where;
}

/** What an ownership line begins with. */
export const OWNERSHIP_PREFIX = 'proxwright: ';

/** Another VM has the id of ours. The message names it, and Proxwright leaves it alone. */
export function notOurs({ address, recorded, observed, acted, where = { address } }: Mismatch): ProxwrightError {
  const name = observed.current.get('name');
  const other = `${vmName(observed)}${name === undefined ? '' : ` ("${name}")`}`;
  const line = observed.current
    .get('description')
    ?.split('\n')
    .find((each) => each.startsWith(OWNERSHIP_PREFIX));
  const owner = line === undefined ? '' : ` Its notes say: "${line.trim()}".`;
  return foreign({
    where,
    why: `${other} is another VM: its uuid is ${observed.uuid ?? 'missing'}, and the one made for ${address} had ${recorded.uuid ?? 'none'}.${owner}`,
    acted: acted
      ? `This run had already changed or switched VM ${observed.vmid}: check that this did not reach the other VM.`
      : undefined,
    // An unfinished copy cannot be taken over.
    hint: isHalfMade(observed)
      ? advice`Forget the old VM: ${command('state forget', address)}`
      : advice`Forget the old VM: ${command('state forget', address)}. If it is the same VM, restored from a backup: ${command('import', address, observed.vmid, '--accept-identity')}`,
  });
}
