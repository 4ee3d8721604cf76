/** The steps that turn a VM into a template, and the privileges that they need; the steps of a VM do everything before. */
import type { Address } from '../../base/address.ts';
import { type AclPath, type Need, need, type OneOf, on } from '../privileges/need.ts';
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

interface Subject {
  /** Where privileges on the template are looked up. */
  readonly paths: OneOf<AclPath>;
  /** Id of the version that has the name now. */
  readonly formerId: number | undefined;
}

/** What each step of a template needs. The map is total: the compiler refuses a new action until it says what it needs. */
export const TEMPLATE_PRIVILEGES: {
  readonly [Name in TemplateActionName]: (input: TemplateInputs[Name], subject: Subject) => readonly Need[];
} = {
  'template.set-aside': () => [],
  'template.install': (_, { paths }) => [
    need('VM.Audit', paths, { field: 'install' }),
    need('VM.PowerMgmt', paths, { field: 'install' }),
  ],
  'template.convert': (_, { paths }) => [
    need('VM.Audit', paths, { field: '' }),
    need('VM.Allocate', paths, { field: '' }),
  ],
  'template.retire': (_, { formerId }) => {
    const path = formerId === undefined ? ([{ path: '/vms', below: true }] as const) : on(`/vms/${formerId}`);
    return [need('VM.Audit', path, { field: '' }), need('VM.Config.Options', path, { field: '' })];
  },
};
