/** Everything a plan needs, from its own steps: each kind says what its steps ask for. Pure. */
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import type { NeedsContext, StepNeeds } from '../../kinds/kind.ts';
import type { RootNeed, TagNeed } from '../../kinds/privileges/need.ts';
import { KINDS } from '../../kinds/registry.ts';
import { type Because, type Requirement, RequirementList } from './requirement.ts';

export type RequirementsInput = NeedsContext;

export interface PlanNeeds {
  readonly requirements: readonly Requirement[];
  /** What no token may do, with the remedies. */
  readonly rootOnly: readonly Diagnostic[];
  /** Tags that are added or removed: only the server knows whether they are reserved. */
  readonly tags: readonly { readonly tags: readonly string[]; readonly because: Because }[];
}

export function requirementsOf(input: RequirementsInput): PlanNeeds {
  const collected = new Collected();
  for (const kind of KINDS) for (const needs of kind.needs(input)) collected.add(needs);
  return { requirements: collected.list.all, rootOnly: collected.rootOnly, tags: collected.tags };
}

class Collected {
  readonly list = new RequirementList();
  readonly rootOnly: Diagnostic[] = [];
  readonly tags: { tags: readonly string[]; because: Because }[] = [];
  /** Addresses and fields that are in `rootOnly`, addresses that are in `tags`. */
  readonly #known = new Set<string>();

  add({ needs, step, whereOf }: StepNeeds): void {
    for (const need of needs) {
      const because = { where: whereOf(need.cause), step };
      switch (need.kind) {
        case 'privilege':
          this.list.add(need, because);
          break;
        case 'root':
          this.#refuse(need, because);
          break;
        case 'tags':
          this.#remember(need, because);
          break;
      }
    }
  }

  #refuse({ cause, instead }: RootNeed, { where }: Because): void {
    const subject = 'key' in cause ? [cause.key, cause.part].filter(Boolean).join('.') : cause.field;
    const { field = subject } = where;
    if (this.#isKnown(`${where.address} ${field}`)) return;
    const detail = `Proxmox lets only root@pam, logged in with a password, set "${subject}"; no privilege of a token replaces that.`;
    this.rootOnly.push(new ProxwrightError({ code: 'ROOT_ONLY', where, detail, hint: instead }).diagnostic);
  }

  /** A VM that is created and then configured asks twice about the same tags. */
  #remember({ tags }: TagNeed, because: Because): void {
    if (!this.#isKnown(`${because.where.address}`)) this.tags.push({ tags, because });
  }

  #isKnown(name: string): boolean {
    if (this.#known.has(name)) return true;
    this.#known.add(name);
    return false;
  }
}
