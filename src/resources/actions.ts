/** Every act that a plan may hold, by the name of its action. */
import { FILE_ACTIONS } from './file/actions/index.ts';
import type { FileAction } from './file/context.ts';
import type { FileInputs } from './file/steps.ts';
import { mapPciDevice } from './pci/map-device.ts';
import { PCI_MAP, type PciMapInput } from './pci/mapping.ts';
import { TEMPLATE_ACTIONS } from './template/index.ts';
import type { TemplateInputs } from './template/steps.ts';
import { ACTIONS as VM_ACTIONS } from './vm/actions/index.ts';
import type { VmInputs } from './vm/steps.ts';

interface Inputs extends VmInputs, TemplateInputs, FileInputs {
  readonly [PCI_MAP]: PciMapInput;
}

export type ActionName = keyof Inputs;

/** The context of a file's step is that of all others, and more. */
export const ACTIONS: { readonly [Name in ActionName]: FileAction<Inputs[Name]> } = {
  ...VM_ACTIONS,
  ...TEMPLATE_ACTIONS,
  ...FILE_ACTIONS,
  [PCI_MAP]: mapPciDevice,
};
