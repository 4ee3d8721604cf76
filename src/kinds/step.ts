/**
 * The unit of work: one idempotent act on one resource, as data. A plan is a list of these; the action that it names runs
 * it. Everything that apply needs to know is in the step.
 */
import type { Address } from '../base/address.ts';

/** The order of steps within one resource; resources wait for each other only where `needs` says so. */
export const STAGES = ['prepare', 'create', 'configure', 'start', 'ready', 'remove'] as const;
export type Stage = (typeof STAGES)[number];

export interface Step<Action extends string = string, Input = unknown> {
  /** Unique within its plan: `vm.web/clone`. */
  readonly id: string;
  readonly stage: Stage;
  readonly address: Address;
  readonly action: Action;
  readonly input: Input;
  /** Steps that must have succeeded before. */
  readonly needs: readonly string[];
  /** It makes the resource unavailable until the last step of the resource is done. */
  readonly outage?: Outage;
}

export interface Outage {
  /** Resources that stand in for each other: `vm.control`. */
  readonly group: string;
  /** How many of the group may be unavailable at once. */
  readonly atMost: number;
}
