/** Which of the VMs a name or an id means, and words for those cases in which it is none of them. */
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import type { Guest } from './inventory.ts';

export interface Wanted {
  readonly name?: string | undefined;
  readonly vmid?: number | undefined;
  readonly node?: string | undefined;
}

export function isMeant({ name, vmid }: Wanted): (guest: Guest) => boolean {
  return (guest) => (name === undefined ? guest.vmid === vmid : guest.name === name);
}

/** The field that says which one is meant. */
export function fieldOf({ name }: Wanted): 'name' | 'vmid' {
  return name === undefined ? 'vmid' : 'name';
}

export function shownAs({ name, vmid }: Wanted): string {
  return name === undefined ? `VM ${vmid}` : `"${name}"`;
}

export function places(guests: readonly Guest[]): string {
  return guests.map(({ vmid, node }) => `${vmid} on ${node}`).join(', ');
}

/** There is one, but not on the node that was named. */
export function elsewhere(wanted: Wanted, found: readonly Guest[]): Diagnostic {
  return refused('node', `${shownAs(wanted)} is not on ${wanted.node}; there is ${places(found)}.`);
}

export function refused(field: string, detail: string, hint?: string): Diagnostic {
  const where = { field };
  return new ProxwrightError({ code: 'MISSING_REFERENCE', where, detail, ...(hint !== undefined && { hint }) })
    .diagnostic;
}
