/** What a plan needs, once for each set of privileges and paths, with the lines of the stack file that need it. */

import type { Where } from '../../base/diagnostics.ts';
import type { AclPath, OneOf } from '../../kinds/privileges/need.ts';

export interface Because {
  /** Position, address and field. */
  readonly where: Where;
  /** `vm.clone`, `ready`. */
  readonly step: string;
}

export interface Requirement {
  /** One of these is enough. */
  readonly privileges: OneOf<string>;
  /** On one of these. */
  readonly paths: OneOf<AclPath>;
  readonly because: OneOf<Because>;
  /** Not needed if all of these are granted. */
  readonly instead?: OneOf<Pick<Requirement, 'privileges' | 'paths'>>;
  /** Reaches beyond the VM: into the hosts, or into the guest as its administrator. */
  readonly strong?: true;
}

const STRONG = new Set(['Sys.Modify', 'Sys.Console', 'Datastore.Allocate', 'VM.GuestAgent.Unrestricted', 'VM.Monitor']);

type Collected = Omit<Requirement, 'because'> & { readonly because: [Because, ...Because[]] };

/** Merges equal needs into one requirement. */
export class RequirementList {
  readonly #byKey = new Map<string, Collected>();
  readonly #reasons = new Set<string>();

  add(need: Pick<Requirement, 'privileges' | 'paths' | 'instead'>, because: Because): void {
    const { privileges, paths, instead } = need;
    const key = `${privileges.join('|')} ${paths.map(printPath).join('|')}`;
    const { where, step } = because;
    const reason = JSON.stringify([key, where.address, where.field, step]);
    if (this.#reasons.has(reason)) return;
    this.#reasons.add(reason);
    const known = this.#byKey.get(key);
    if (known) {
      known.because.push(because);
      return;
    }
    this.#byKey.set(key, {
      privileges,
      paths,
      because: [because],
      ...(instead && { instead }),
      ...(STRONG.has(privileges[0]) && { strong: true as const }),
    });
  }

  get all(): Requirement[] {
    return [...this.#byKey.values()];
  }
}

/** `/vms/101`, or `/vms/…` for everything below. */
export function printPath({ path, below }: AclPath): string {
  return below ? `${path}/…` : path;
}
