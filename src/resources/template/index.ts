/** What each step of a template does, by the name of its action. */
import type { Action } from '../action.ts';
import { convertToTemplate } from './convert.ts';
import { installTemplate } from './install.ts';
import { retireTemplate } from './retire.ts';
import type { TemplateActionName, TemplateInputs } from './steps.ts';

export const TEMPLATE_ACTIONS: { readonly [Name in TemplateActionName]: Action<TemplateInputs[Name]> } = {
  'template.install': installTemplate,
  'template.convert': convertToTemplate,
  'template.retire': retireTemplate,
};
