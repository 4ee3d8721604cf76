/** All kinds. A new one needs its folder and a line here. */
import { kindOf } from '../base/address.ts';
import type { ActionDefinition, Label } from './action.ts';
import { haRuleKind } from './ha-rule/kind.ts';
import { imageKind } from './image/kind.ts';
import type { FileServices } from './image/steps.ts';
import type { Kind, Unfinished } from './kind.ts';
import type { Observed } from './observed.ts';
import { pciMappingKind } from './pci-mapping/kind.ts';
import type { StackState } from './recorded.ts';
import type { ResolvedStack } from './stack.ts';
import type { Step } from './step.ts';
import { templateKind } from './template/kind.ts';
import type { VmContext } from './vm/actions/context.ts';
import { vmKind } from './vm/kind.ts';

/** What the engine hands to every action: the contexts of all kinds. Each action uses its part. */
export type StepContext = VmContext & FileServices;

export type AnyAction = ActionDefinition<never, StepContext>;
export type AnyKind = Kind<StepContext>;

/** A kind is shown and created after the kinds it depends on, and destroyed before them. */
export const KINDS: readonly AnyKind[] = [imageKind, pciMappingKind, templateKind, vmKind, haRuleKind];

/** VMs are planned with the templates as they will be. */
export const PLANNED_FIRST: readonly AnyKind[] = [templateKind];

/** Images, mappings and HA rules follow from the machines. */
export const PLANNING_ORDER: readonly AnyKind[] = [...PLANNED_FIRST, vmKind, imageKind, pciMappingKind, haRuleKind];

/** Kinds that a plain `destroy` removes; others may be used by other stacks and are removed only on request. */
const DESTROYED_BY_DEFAULT: readonly AnyKind[] = [vmKind];

export function kindOfAddress(address: string): AnyKind | undefined {
  const prefix = kindOf(address);
  return prefix && KINDS.find(({ prefixes }) => prefixes.includes(prefix));
}

export function isDestroyedByDefault(address: string): boolean {
  return DESTROYED_BY_DEFAULT.some((kind) => kind === kindOfAddress(address));
}

const ACTIONS: ReadonlyMap<string, AnyAction> = new Map(KINDS.flatMap(({ actions }) => Object.entries(actions)));

/** Undefined for an unknown name. Each step carries the input of its action, so the input is not typed here. */
export function actionNamed(name: string): AnyAction | undefined {
  return ACTIONS.get(name);
}

/** Every action that a plan may hold. */
export function actionNames(): string[] {
  return [...ACTIONS.keys()];
}

/** The name of an action in output. */
export function labelOf(action: string): Label {
  return actionNamed(action)?.label ?? 'configure';
}

/** The state with every resource under its present address in the file. */
export function renamedState(stack: ResolvedStack, state: StackState): StackState {
  return KINDS.reduce((result, kind) => kind.renamed?.(stack, result) ?? result, state);
}

/** The stack with what earlier runs gave its resources. */
export function givenStack(stack: ResolvedStack, state: StackState): ResolvedStack {
  return KINDS.reduce((result, kind) => kind.given?.(result, state) ?? result, stack);
}

/** The stack with the nodes on which its resources are. */
export function locatedStack(stack: ResolvedStack, state: StackState, observed: Observed): ResolvedStack {
  return KINDS.reduce((result, kind) => kind.located?.(result, state, observed) ?? result, stack);
}

/** What unfinished runs were creating. A command that only reads leaves it out of its plan. */
export function unfinishedResources(stack: ResolvedStack, state: StackState, observed: Observed): Unfinished {
  return KINDS.reduce(
    (rest: Unfinished, kind) => {
      const next = kind.unfinished?.(rest.stack, rest.state, observed);
      return next ? { ...next, changes: [...rest.changes, ...next.changes] } : rest;
    },
    { changes: [], stack, state },
  );
}

/** By address, the nodes that a plan chose. */
export function chosenNodes(steps: readonly Step[]): Readonly<Record<string, string>> {
  return Object.assign({}, ...KINDS.map((kind) => kind.chosenNodes?.(steps)));
}

/** The field whose secret value is sent under this key, or the key itself. */
export function secretPathOf(key: string): string {
  return KINDS.flatMap((kind) => kind.secretPath?.(key) ?? [])[0] ?? key;
}
