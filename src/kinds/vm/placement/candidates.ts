/** Which nodes a VM may be on before its node is chosen. */
import type { Observed } from '../../observed.ts';
import type { ResolvedVm } from '../stack.ts';
import { byName } from './ledger.ts';

/** In `fields.node` until the plan has chosen: no node can have this name. */
export const NODE_NOT_CHOSEN = '(not chosen yet)';

/** Its node, or those that the plan chooses among. */
export function candidatesOf(vm: ResolvedVm, nodes: Pick<Observed['nodes'], 'keys'>): string[] {
  return vm.fields.node === NODE_NOT_CHOSEN ? allowedNodes(vm, nodes) : [vm.fields.node];
}

/** Where the file allows it, wherever it is now. */
export function allowedNodes({ fields, placement }: ResolvedVm, nodes: Pick<Observed['nodes'], 'keys'>): string[] {
  if (!placement) return [fields.node];
  return placement.nodes === 'all' ? [...nodes.keys()].sort(byName) : [...placement.nodes];
}
