/** What is observed of templates. */
import type { Address } from '../../base/address.ts';
import type { Readable } from '../cluster.ts';
import type { VmObserved } from '../vm/observed.ts';

export interface TemplatesObserved {
  /** Templates by the name or id that the stack uses; several if several nodes have one with that name. */
  readonly templates: ReadonlyMap<string, readonly TemplateCandidate[]>;
}

export const NO_TEMPLATES: TemplatesObserved = { templates: new Map() };

export interface TemplateCandidate {
  readonly vmid: number;
  readonly node: string;
  readonly name: string | undefined;
  readonly isTemplate: boolean;
  readonly vm: Readable<VmObserved>;
  /** Set for a template of the stack, which the plan itself may build. */
  readonly address?: Address;
}

/** The key under which a reference is kept: IDs and names do not collide. */
export function templateKey(reference: string | number): string {
  return typeof reference === 'number' || /^\d+$/.test(reference) ? `#${reference}` : reference;
}
