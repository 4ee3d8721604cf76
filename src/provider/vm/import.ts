/** Taking over a VM by `node/vmid`, `vmid` or name. Nothing of it is changed. */
import { ApiError, SpecError } from '../../base/errors.ts';
import type { VmObserved } from '../../resources/vm/observed.ts';
import { readVm } from '../../resources/vm/read.ts';
import type { ImportResult, MoveRequest } from '../provider.ts';
import type { Surroundings } from '../surroundings.ts';
import type { VmContext } from './context.ts';
import { type ListedVm, listVms } from './incomplete.ts';
import { writePrivate } from './private-state.ts';
import { importedState } from './read.ts';

export async function importVmState(context: VmContext, id: string): Promise<ImportResult> {
  const surroundings = context.requireSurroundings();
  const vm = await findVm(surroundings, id);
  if (vm.template) {
    throw new SpecError({
      code: 'BAD_VALUE',
      detail: `VM ${vm.vmid} on ${vm.node} is a template, not a VM.`,
      hint: 'Look at it with the data source proxwright_template.',
    });
  }
  return {
    state: importedState(vm),
    private: writePrivate({ imported: true, managed: [], applied: {} }),
    diagnostics: [],
  };
}

async function findVm(surroundings: Surroundings, id: string): Promise<VmObserved> {
  const { looks, signal } = surroundings;
  const listed = await listVms(looks, signal);
  const matches = listed.filter((vm) => isMeant(vm, id.trim()));
  const [only, second] = matches;
  if (second) {
    throw new SpecError({
      code: 'BAD_VALUE',
      detail: `Several VMs are called "${id}": ${matches.map(({ vmid, node }) => `${node}/${vmid}`).join(', ')}.`,
      hint: 'Import one of them as node/vmid.',
    });
  }
  if (!only) {
    throw new ApiError({
      code: 'NOT_FOUND',
      detail:
        listed.length === 0
          ? `The token sees no VM at all, so nobody can say whether "${id}" exists: it lacks VM.Audit everywhere.`
          : `No visible VM is "${id}".`,
      hint: 'Give it as node/vmid, vmid or name: pve1/101, 101 or web-1.',
    });
  }
  return readVm(looks, only.node, only.vmid, { running: only.running, signal });
}

function isMeant({ vmid, node, name }: ListedVm, id: string): boolean {
  const [, onNode, number] = /^(?:([^/]+)\/)?(\d+)$/.exec(id) ?? [];
  if (number === undefined) return name === id;
  return vmid === Number(number) && (onNode === undefined || onNode === node);
}

/** Where other providers keep what names a VM. */
export async function moveVmState(context: VmContext, { sourceType, sourceState }: MoveRequest): Promise<ImportResult> {
  const state = typeof sourceState === 'object' && sourceState !== null ? (sourceState as Record<string, unknown>) : {};
  const id = sourceIdOf(sourceType, state);
  if (id !== undefined) return importVmState(context, id);
  throw new SpecError({
    code: 'BAD_VALUE',
    detail: `A ${sourceType} cannot become a proxwright_vm.`,
    hint: 'Remove it from the state and import the VM: terraform state rm, then terraform import ADDRESS node/vmid.',
  });
}

function sourceIdOf(type: string, state: Readonly<Record<string, unknown>>): string | undefined {
  switch (type) {
    case 'proxmox_virtual_environment_vm':
    case 'proxmox_virtual_environment_vm2':
      return state.vm_id === undefined ? undefined : `${String(state.node_name)}/${String(state.vm_id)}`;
    case 'proxmox_vm_qemu':
      return state.vmid === undefined ? undefined : `${String(state.target_node)}/${String(state.vmid)}`;
    default:
      return undefined;
  }
}
