/** Where in the file something about a VM was written: the field itself, or what is nearest above it. */
import type { Where } from '../../base/diagnostics.ts';
import type { ResolvedVm } from '../stack.ts';

export function whereOf(vm: ResolvedVm, path = ''): Where {
  const parts = path.split('.');
  const subject = { address: vm.address, ...(path !== '' && { field: path }) };
  for (let length = parts.length; length > 0; length--) {
    const found = vm.positions[parts.slice(0, length).join('.')];
    if (found) return { ...found, ...subject };
  }
  return { ...vm.positions[''], ...subject };
}
