/** Templates in a stack: what the file says about them. */
import type { ResolvedVm } from '../vm/stack.ts';

export interface TemplatesInStack {
  /** One for each node that has its own. */
  readonly templates: readonly ResolvedTemplate[];
}

/** A VM that is created, installs itself if it comes from an ISO, and is then converted. */
export interface ResolvedTemplate {
  readonly name: string;
  /** Its fields; `name` is the template's, and it is never left running. */
  readonly vm: ResolvedVm;
  /** Name or ID of the VM to copy. */
  readonly from?: string | number;
  /** Boots its ISO and must power itself off within this time. */
  readonly install?: { readonly timeoutMs: number };
  /** Other inputs, given from outside the file. They are part of the recipe and of nothing else. */
  readonly madeFrom?: Readonly<Record<string, string>>;
}
