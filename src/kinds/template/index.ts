/** The actions of a template, by name; everything before them is made by the actions of a VM. */
import type { ActionDefinition } from '../action.ts';
import { settleChange } from '../vm/actions/settle.ts';
import { convertToTemplate } from './convert.ts';
import { installTemplate } from './install.ts';
import { retireTemplate, setAside } from './retire.ts';
import type { TemplateActionName, TemplateInputs } from './steps.ts';

export const TEMPLATE_ACTIONS: { readonly [Name in TemplateActionName]: ActionDefinition<TemplateInputs[Name]> } = {
  'template.set-aside': { label: 'prepare', run: setAside },
  'template.install': { label: 'install', run: installTemplate, settle: settleChange },
  'template.convert': { label: 'convert', run: convertToTemplate, settle: settleChange },
  'template.retire': { label: 'configure', run: retireTemplate, settle: settleChange },
};
