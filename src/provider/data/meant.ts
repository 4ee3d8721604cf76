/** Finding one VM by name or id, and the problems where none matches. */
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import type { Guest } from './inventory.ts';

export interface Query {
  readonly name?: string | undefined;
  readonly vmid?: number | undefined;
  readonly node?: string | undefined;
}

export function isMeant({ name, vmid }: Query): (guest: Guest) => boolean {
  return (guest) => (name === undefined ? guest.vmid === vmid : guest.name === name);
}

/** The field that selects it. */
export function fieldOf({ name }: Query): 'name' | 'vmid' {
  return name === undefined ? 'vmid' : 'name';
}

export function shownAs({ name, vmid }: Query): string {
  return name === undefined ? `VM ${vmid}` : `"${name}"`;
}

export function places(guests: readonly Guest[]): string {
  return guests.map(({ vmid, node }) => `${vmid} on ${node}`).join(', ');
}

/** It exists, but not on the requested node. */
export function elsewhere(query: Query, found: readonly Guest[]): Diagnostic {
  return refused('node', `${shownAs(query)} is not on ${query.node}; it is ${places(found)}.`);
}

export function refused(field: string, detail: string, hint?: string): Diagnostic {
  const where = { field };
  return new ProxwrightError({ code: 'MISSING_REFERENCE', where, detail, ...(hint !== undefined && { hint }) })
    .diagnostic;
}
