/**
 * What the doctor's checks of the kinds look at, as plain data: read once, and the checks make no further requests. What a
 * kind reads for its checks is declared in its folder; here it is put together.
 */
import type { Diagnostic } from '../../base/diagnostics.ts';
import type { Pve } from '../../pve/client.ts';
import type { ServerVersion } from '../../pve/compatibility.ts';
import type { Plan } from '../change.ts';
import { type ImagesExamined, NO_IMAGES_EXAMINED } from '../image/observed.ts';
import type { Observed } from '../observed.ts';
import { type DevicesExamined, NO_DEVICES_EXAMINED } from '../pci-mapping/observed.ts';
import type { StackState } from '../recorded.ts';
import type { ResolvedStack } from '../stack.ts';
import { NO_VMS_EXAMINED, type VmsExamined } from '../vm/observe/observed-vms.ts';
import type { CheckName, Finding } from './finding.ts';

/** What the kinds read. */
interface ExaminedParts extends ImagesExamined, DevicesExamined, VmsExamined {}

export interface Examined extends ExaminedParts {
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly observed: Observed;
  /** `observed` with the templates that the plan will build. */
  readonly foreseen: Observed;
  /** Problems already say if the token lacks the privilege to see something. */
  readonly result:
    | { readonly ok: true; readonly plan: Plan }
    | { readonly ok: false; readonly problems: readonly Diagnostic[] };
}

/** Pure. */
export type Check = (examined: Examined) => readonly Finding[];

/** At most one kind has a check of a name; the engine has the others. */
export type Checks = Readonly<Partial<Record<CheckName, Check>>>;

export interface ExamineContext {
  readonly pve: Pve;
  readonly signal: AbortSignal | undefined;
  /** As the file has it. */
  readonly stack: ResolvedStack;
  /** With the nodes that the plan chose. */
  readonly placed: ResolvedStack;
  readonly observed: Observed;
  readonly grants: {
    /** Reads the privileges on these paths. */
    ask(paths: readonly string[]): Promise<unknown>;
    on(path: string): { has(privilege: string): boolean };
  };
}

/** What a kind reads for its checks. */
export type ExaminedPart = Partial<ExaminedParts>;

export const NOTHING_EXAMINED: ExaminedParts = { ...NO_IMAGES_EXAMINED, ...NO_DEVICES_EXAMINED, ...NO_VMS_EXAMINED };

export interface UpgradeContext {
  readonly from: ServerVersion;
  readonly to: ServerVersion;
  readonly stack: ResolvedStack;
  readonly observed: Observed;
}
