/** The steps that turn a VM into a template; the steps of a VM do everything before. */
import type { Address } from '../../base/address.ts';
import { makeStep, type Stage, type Step } from '../step.ts';
import type { TemplateGuest } from './health.ts';

export interface InstallInput {
  /** How long the guest may take until it shuts itself down. */
  readonly timeoutMs: number;
}

/** What its clones will expect of it. */
export type ConvertInput = TemplateGuest;

export interface RetireInput {
  /** The version that has the name now. */
  readonly former: Address;
  /** Its new name. */
  readonly name: string;
}

export interface SetAsideInput {
  /** The address under which the replaced version stays recorded. */
  readonly as: Address;
}

export interface TemplateInputs {
  readonly 'template.set-aside': SetAsideInput;
  readonly 'template.install': InstallInput;
  readonly 'template.convert': ConvertInput;
  readonly 'template.retire': RetireInput;
}

export type TemplateActionName = keyof TemplateInputs;

const STAGE_OF: Readonly<Record<TemplateActionName, Stage>> = {
  'template.set-aside': 'prepare',
  'template.install': 'start',
  'template.convert': 'ready',
  'template.retire': 'ready',
};

export function templateStep<Name extends TemplateActionName>(
  address: Address,
  action: Name,
  input: TemplateInputs[Name],
): Step<Name, TemplateInputs[Name]> {
  return makeStep(address, action, STAGE_OF[action], input);
}

export function isTemplateStep(step: Step): step is Step<TemplateActionName, TemplateInputs[TemplateActionName]> {
  return step.action in STAGE_OF;
}
