/** Taking over a template by `node/vmid`, `vmid` or name. Nothing of it is changed. */
import { ProxwrightError } from '../../base/errors.ts';
import type { ImportResult } from '../provider.ts';
import type { VmContext } from '../vm/context.ts';
import { findVm } from '../vm/import.ts';
import { writePrivate } from './private-state.ts';
import { importedTemplate } from './read.ts';

export async function importTemplateState(context: VmContext, id: string): Promise<ImportResult> {
  const vm = await findVm(context.requireSurroundings(), id);
  if (!vm.template) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      detail: `VM ${vm.vmid} on ${vm.node} is no template.`,
      hint: 'Import it as a proxwright_vm, or copy it: from = { vm = … }.',
    });
  }
  const kept = { managed: [], applied: {}, retired: [] };
  return { state: importedTemplate(vm), private: writePrivate(kept), diagnostics: [] };
}
