/** What each step of a template needs. The map is total: the compiler refuses a new action until it says what it needs. */
import { type AclPath, type Need, need, type OneOf, on } from '../privileges/need.ts';
import type { TemplateActionName, TemplateInputs } from './steps.ts';

interface Subject {
  /** Where privileges on the template are looked up. */
  readonly paths: OneOf<AclPath>;
  /** Id of the version that has the name now. */
  readonly formerId: number | undefined;
}

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
