/** Taking over a VM by `node/vmid`, `vmid` or name. Nothing of it is changed. */
import { ProxwrightError } from '../../base/errors.ts';
import { readVm, type VmObserved } from '../../kinds/vm/observed.ts';
import { type CtyValue, objectOf } from '../cty/value.ts';
import type { ImportResult, MoveRequest, ReadRequest, ReadResult } from '../provider.ts';
import type { Surroundings } from '../surroundings.ts';
import type { VmContext } from './context.ts';
import { type ListedVm, listVms } from './incomplete.ts';
import { readPrivate, type VmPrivate, writePrivate } from './private-state.ts';
import { importedState } from './read.ts';
import { VM_SCHEMA } from './schema.ts';

const TAKEN_OVER: VmPrivate = { imported: true, managed: [], applied: {} };

export async function importVmState(context: VmContext, id: string): Promise<ImportResult> {
  const surroundings = context.requireSurroundings();
  const vm = await findVm(surroundings, id);
  if (vm.template) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      detail: `VM ${vm.vmid} on ${vm.node} is a template, not a VM.`,
      hint: 'Look at it with the data source proxwright_template.',
    });
  }
  return {
    state: importedState(vm),
    private: writePrivate(TAKEN_OVER),
    diagnostics: [],
  };
}

/** By `node/vmid`, `vmid` or name. */
export async function findVm(surroundings: Surroundings, id: string): Promise<VmObserved> {
  const { looks, signal } = surroundings;
  const listed = await listVms(looks, signal);
  const matches = listed.filter((vm) => isMeant(vm, id.trim()));
  const [only, second] = matches;
  if (second) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      detail: `Several VMs are called "${id}": ${matches.map(({ vmid, node }) => `${node}/${vmid}`).join(', ')}.`,
      hint: 'Import one of them as node/vmid.',
    });
  }
  if (!only) {
    throw new ProxwrightError({
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

/**
 * A VM of another provider. The host asks this of a provider that it has not configured, so no server can be asked: the
 * state holds the id alone, and the read that follows takes the VM over. Its node does not count; it may have been migrated.
 */
export async function moveVmState({ sourceType, sourceState }: MoveRequest): Promise<ImportResult> {
  const source = isRecord(sourceState) ? sourceState : {};
  const vmid = sourceIdOf(sourceType, source);
  if (vmid === undefined) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      detail: `A ${sourceType} cannot become a proxwright_vm.`,
      hint: 'Remove it from the state and import the VM: terraform state rm, then terraform import ADDRESS node/vmid.',
    });
  }
  const nothing = Object.keys(VM_SCHEMA.attributes).map((name): [string, CtyValue] => [name, null]);
  return { state: objectOf([...nothing, ['vmid', vmid]]), private: writePrivate(TAKEN_OVER), diagnostics: [] };
}

/** The first read of a VM that was moved; undefined for any other. */
export async function readMovedVm(context: VmContext, request: ReadRequest): Promise<ReadResult | undefined> {
  const { state } = request;
  if (!context.surroundings || (state.id ?? null) !== null || !readPrivate(request.private).imported) return undefined;
  const { state: found } = await importVmState(context, String(state.vmid));
  return { state: found, private: writePrivate({ managed: [], applied: {} }), diagnostics: [] };
}

/** Where the resources of other providers keep the id of their VM; the last number counts (`pve1/qemu/101`). */
const ID_ATTRIBUTES: ReadonlyMap<string, readonly string[]> = new Map([
  ['proxmox_virtual_environment_vm', ['vm_id', 'id']],
  ['proxmox_virtual_environment_vm2', ['id']],
  ['proxmox_virtual_environment_cloned_vm', ['id']],
  ['proxmox_vm', ['id']],
  ['proxmox_cloned_vm', ['id']],
  ['proxmox_vm_qemu', ['vmid', 'id']],
]);

function sourceIdOf(type: string, state: Readonly<Record<string, unknown>>): number | undefined {
  const written = (ID_ATTRIBUTES.get(type) ?? []).map((name) => /[1-9]\d*$/.exec(String(state[name] ?? ''))?.[0]);
  const id = written.find((text) => text !== undefined);
  return id === undefined ? undefined : Number(id);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
