/**
 * A rule is a requirement on a resource that the types of its fields cannot express. Each rule is written once, in the
 * folder of its kind.
 */
import type { Severity } from '../../base/diagnostics.ts';
import type { Hint } from '../../base/hint.ts';

/** A problem with an object that is clear from the context. */
export interface Complaint {
  /** Field path to report; the nearest path that the file contains is used. */
  readonly path: string;
  readonly detail: string;
  readonly hint?: Hint | string;
  readonly severity?: Severity;
}

/**
 * A rule about one resource. `reads` lists the paths the rule reads, `*` for any slot. A resource with a mistake in one of
 * them is skipped, because that mistake has been reported already.
 */
export interface Rule<Resource, Found = Complaint> {
  readonly reads: readonly string[];
  readonly check: (resource: Resource) => Iterable<Found>;
}
