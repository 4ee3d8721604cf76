/** What `validate` found in a stack file. */

import type { Diagnostic } from '../../../base/diagnostics.ts';
import { counted } from '../../../base/values/units.ts';
import type { ResolvedStack, ResolvedVm } from '../../../spec/index.ts';
import { chooseView, type ViewDeps } from '../view.ts';

export interface ValidatedFile {
  readonly file: string;
  readonly variableFiles: readonly string[];
  /** Absent if there are errors. */
  readonly stack?: ResolvedStack;
  readonly diagnostics: readonly Diagnostic[];
}

export interface ValidateView {
  validated(result: ValidatedFile): void;
}

export function validateView(deps: ViewDeps): ValidateView {
  return chooseView<ValidateView>(deps, {
    human: ({ terminal }) => ({
      validated: ({ file, stack, diagnostics, variableFiles }) => {
        if (variableFiles.length > 0) terminal.log('info', `Variables from ${variableFiles.join(', ')}.`);
        for (const diagnostic of diagnostics) terminal.diagnostic(diagnostic);
        const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
        if (stack) terminal.success(`${file} is valid: stack ${stack.name} with ${contents(stack)}.`);
        else terminal.log('error', `${file} has ${counted(errors, 'problem')}.`);
      },
    }),
    json: ({ print }) => ({
      validated: ({ file, stack, diagnostics, variableFiles }) => {
        const named = ({ address, fields }: ResolvedVm) => ({ address, name: fields.name });
        const vms = stack?.vms.map(named) ?? [];
        const templates = stack?.templates.map(({ vm }) => named(vm)) ?? [];
        const images = stack?.images.map(({ address, file: name }) => ({ address, file: name })) ?? [];
        print({ file, variableFiles, valid: stack !== undefined, vms, templates, images, diagnostics });
      },
    }),
  });
}

/** `2 VMs, 1 template and 1 image`: VMs always, the others if there are any. */
function contents({ vms, templates, images }: ResolvedStack): string {
  const more = [
    ...(templates.length > 0 ? [counted(templates.length, 'template')] : []),
    ...(images.length > 0 ? [counted(images.length, 'image')] : []),
  ];
  const last = more.pop();
  const rest = [counted(vms.length, 'VM'), ...more].join(', ');
  return last === undefined ? rest : `${rest} and ${last}`;
}
