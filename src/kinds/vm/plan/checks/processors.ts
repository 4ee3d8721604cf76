/** Compares the CPU model and the number of cores of a VM with its node. Pure. */

import type { Diagnostic } from '../../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../../base/errors.ts';
import { closest } from '../../../../base/text/closest.ts';
import { nodeCommand } from '../../../../base/text/node-command.ts';
import { whereOf } from '../../../fields/positions.ts';
import type { Observed } from '../../../observed.ts';
import { propertyOf } from '../../config/parts.ts';
import type { ResolvedVm } from '../../stack.ts';

type Values = ReadonlyMap<string, string>;

export function processorProblems(
  { vm, base }: { vm: ResolvedVm; base: Values | undefined },
  observed: Observed,
): Diagnostic[] {
  return [modelProblem(vm, base, observed), coresProblem(vm, base, observed)].filter((each) => each !== undefined);
}

/** Models of this cluster, which an administrator defined. */
export const isCustomModel = (type: string | undefined): boolean => type?.startsWith('custom-') === true;

/** Whether the VM gets a model that it does not have yet. */
export function givesCpuModel(cpu: ResolvedVm['fields']['cpu'], values: Values): boolean {
  return cpu?.type !== undefined && propertyOf('cpu', values.get('cpu')).get('cputype') !== cpu.type;
}

/** Undefined if the model was compared, or if the VM gets none. */
export function uncheckedModel({ fields }: ResolvedVm, { cpuModels }: Observed): { needs: string } | undefined {
  const type = fields.cpu?.type;
  if (!isCustomModel(type) || !cpuModels || cpuModels.customs.ok) return undefined;
  return cpuModels.names.has(type ?? '') ? undefined : { needs: cpuModels.customs.needs };
}

function modelProblem(vm: ResolvedVm, base: Values | undefined, observed: Observed): Diagnostic | undefined {
  const type = vm.fields.cpu?.type;
  const { cpuModels } = observed;
  if (type === undefined || !cpuModels || cpuModels.names.has(type) || uncheckedModel(vm, observed)) return undefined;
  if (base && !givesCpuModel(vm.fields.cpu, base)) return undefined;
  // The list covers the node's architecture only; a VM of another architecture has other models.
  if (base?.has('arch') || vm.fields.extra?.arch !== undefined) return undefined;
  const guess = cpuModels.names.has(`custom-${type}`) ? `custom-${type}` : closest(type, cpuModels.names);
  const list = `List the models: ${nodeCommand('pvesh get', [`/nodes/${vm.fields.node}/capabilities/qemu/cpu`])}`;
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: whereOf(vm, 'cpu.type'),
    detail: `There is no CPU model "${type}"; Proxmox will refuse it.`,
    hint: guess === undefined ? list : `Did you mean "${guess}"? ${list}`,
  }).diagnostic;
}

/** Proxmox starts no VM with more cores than its node has. */
function coresProblem(vm: ResolvedVm, base: Values | undefined, { nodes }: Observed): Diagnostic | undefined {
  const { cpu, node, power } = vm.fields;
  const most = nodes.get(node)?.cores;
  const cores = cpu?.cores ?? Number(base?.get('cores') ?? 1);
  const sockets = cpu?.sockets ?? Number(base?.get('sockets') ?? 1);
  if (most === undefined || power !== 'running' || cores * sockets <= most) return undefined;
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: whereOf(vm, 'cpu.cores'),
    detail: `${vm.address} has ${cores * sockets} cores, but ${node} has only ${most}: Proxmox will not start it.`,
    hint: `Set cpu.cores to ${Math.max(1, Math.floor(most / sockets))} or less.`,
  }).diagnostic;
}
