/**
 * The unit of work: one idempotent act on one resource, as data. A plan is a list of these; the action that it names runs
 * it. Everything that apply needs to know is in the step.
 */
import type { Address } from '../base/address.ts';
import type { OutageStart } from './outage.ts';

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
  /** What the state records when it begins, until a step with `endsOutage` is done. */
  readonly begins?: OutageStart;
  /** After it the resource is available again, or removed as planned. */
  readonly endsOutage?: true;
}

export interface Outage {
  /** The group of interchangeable resources: `vm.control`. */
  readonly group: string;
  /** How many of the group may be unavailable at once. */
  readonly atMost: number;
  /** How many members the group has. */
  readonly size: number;
  /** Between a member that is ready again and the next one. */
  readonly pauseMs: number;
  /** What happens to the other members once one has failed. */
  readonly onFailure: 'stop' | 'continue';
  /**
   * The new VM is created before the old one is destroyed: no member is unavailable, and this many are created at once.
   */
  readonly order?: 'create_first';
  /** Arguments of an apply that changes this member in the same way; the user has to repeat them to continue. */
  readonly again: readonly string[];
  /** Requested by a command other than `apply`; the same command continues it. */
  readonly isAsked?: true;
  /**
   * An earlier run took it down, and this one restores it: it counts as unavailable from the start, and does not wait.
   */
  readonly isOpen?: true;
}

export interface StepOptions {
  readonly needs?: readonly string[];
  /** Distinguishes several steps of one action: `vm.web/resize/scsi0`. */
  readonly part?: string;
}

/** The id has the verb of the action: `vm.web/clone` of `vm.clone`. */
export function makeStep<Action extends string, Input>(
  address: Address,
  action: Action,
  stage: Stage,
  input: Input,
  { needs = [], part }: StepOptions = {},
): Step<Action, Input> {
  const verb = action.slice(action.indexOf('.') + 1);
  const id = [address, verb, ...(part === undefined ? [] : [part])].join('/');
  return { id, stage, address, action, input, needs };
}
