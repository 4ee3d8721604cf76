/** What an administrator with a shell on the host does to a VM. */
import { ApiFault } from '../../../../src/simulator/http/response.ts';
import { draftOf, saveConfig } from '../../../../src/simulator/vm/config/config-file.ts';
import type { Vm } from '../../../../src/simulator/world/world.ts';

/** Another client edits the file; what the server could not even read is no such edit. */
export function isStored(vm: Vm, values: ReadonlyMap<string, string>): boolean {
  const draft = draftOf(vm.config);
  draft.current = new Map(values);
  try {
    saveConfig(vm, draft);
    return true;
  } catch (error) {
    if (error instanceof ApiFault) return false;
    throw error;
  }
}
