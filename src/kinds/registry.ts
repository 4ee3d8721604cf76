/** Every act that a plan may hold, by the name of its action. */
import type { ActionDefinition, Label } from './action.ts';
import { FILE_ACTIONS } from './image/actions/index.ts';
import type { FileContext } from './image/steps.ts';
import { mapPciDevice } from './pci-mapping/map-device.ts';
import { PCI_MAP } from './pci-mapping/mapping.ts';
import { TEMPLATE_ACTIONS } from './template/actions.ts';
import { VM_ACTIONS } from './vm/actions/index.ts';

export const ACTIONS = {
  ...VM_ACTIONS,
  ...TEMPLATE_ACTIONS,
  ...FILE_ACTIONS,
  [PCI_MAP]: { label: 'configure' as const, run: mapPciDevice },
};

/** Undefined for a name that no plan of ours holds. Each step carries the input of its action, so the input is not typed here. */
export function actionNamed(name: string): ActionDefinition<never, FileContext> | undefined {
  return (ACTIONS as Readonly<Record<string, ActionDefinition<never, FileContext>>>)[name]; // by their own names
}

/** What people call the work of an action. */
export function labelOf(action: string): Label {
  return actionNamed(action)?.label ?? 'configure';
}
