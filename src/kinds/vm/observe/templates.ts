/** Guests that the file refers to by name or ID: the templates of new VMs, and what templates are made from. */
import type { Pve } from '../../../pve/client.ts';
import { isNotFound } from '../../../pve/errors/kinds.ts';
import { type GuestRow, MAX_AGE_MS, type Readable, readIfAllowed } from '../../cluster.ts';
import type { ObserveContext } from '../../kind.ts';
import type { ResolvedStack } from '../../stack.ts';
import { type TemplateCandidate, templateKey } from '../../template/observed.ts';
import { readVm, type VmObserved } from '../observed.ts';
import type { ResolvedVm } from '../stack.ts';

/** Names and ids that new machines refer to, and the names of new templates, because another guest may have one. */
export function referencesOf(toMake: readonly ResolvedVm[], stack: ResolvedStack): Set<string> {
  const addresses = new Set(toMake.map(({ address }) => address));
  const building = stack.templates.filter(({ vm }) => addresses.has(vm.address));
  return new Set([
    ...toMake.flatMap(({ fields }) => (fields.clone ? [templateKey(fields.clone.template)] : [])),
    ...building.flatMap(({ name, from }) => [templateKey(name), ...(from === undefined ? [] : [templateKey(from)])]),
  ]);
}

export async function readTemplates(
  pve: Pve,
  references: ReadonlySet<string>,
  guests: ReadonlyMap<number, GuestRow>,
  signal: AbortSignal | undefined,
): Promise<Map<string, TemplateCandidate[]>> {
  const entries = await Promise.all(
    [...references].map(async (reference): Promise<[string, TemplateCandidate[]]> => {
      const rows = [...guests.values()].filter((row) => isMeant(row, reference));
      return [reference, await Promise.all(rows.map((row) => readTemplate(pve, row, signal)))];
    }),
  );
  return new Map(entries);
}

function isMeant({ vmid, name, type }: GuestRow, reference: string): boolean {
  return reference.startsWith('#') ? vmid === Number(reference.slice(1)) : name === reference && type === 'qemu';
}

/**
 * The list of the cluster has no name for a guest until its node has reported it: for some seconds after the guest was
 * created, or after the node restarted. The list of the node has the name at once; it is read only if a name is missed.
 */
export async function withNames(
  { pve, signal, guests, nodes }: ObserveContext,
  references: ReadonlySet<string>,
): Promise<ReadonlyMap<number, GuestRow>> {
  const rows = [...guests.values()];
  if ([...references].every((reference) => rows.some((row) => isMeant(row, reference)))) return guests;
  const silent = new Set(
    rows.flatMap(({ name, node }) => (name === undefined && nodes.get(node)?.online ? [node] : [])),
  );
  const lists = await Promise.all([...silent].map((node) => pve.node(node).vms.list({}, { signal })));
  const names = new Map<number, string | undefined>(lists.flat().map(({ vmid, name }) => [vmid, name]));
  return new Map(rows.map((row) => [row.vmid, { ...row, name: row.name ?? names.get(row.vmid) }]));
}

/** Reads a guest that a reference may name; missing privileges become part of the result. */
export async function readTemplate(
  pve: Pve,
  row: Omit<GuestRow, 'type'>,
  signal: AbortSignal | undefined,
): Promise<TemplateCandidate> {
  const read = await readable<VmObserved>(
    () => readVm(pve, row.node, row.vmid, { running: false, signal, maxAgeMs: MAX_AGE_MS.templates }),
    `VM.Audit on /vms/${row.vmid}`,
  );
  const vm: Readable<VmObserved> =
    read === 'absent' ? { ok: false, needs: `a VM ${row.vmid} that still exists` } : read;
  // The list may be some seconds old; the configuration is current.
  const isTemplate = vm.ok ? vm.value.template : row.template;
  return { vmid: row.vmid, node: row.node, name: row.name, isTemplate, vm };
}

/** Missing privileges become part of the result; every other error is thrown. */
export async function readable<Value>(work: () => Promise<Value>, needs: string): Promise<Readable<Value> | 'absent'> {
  try {
    return await readIfAllowed(work, needs);
  } catch (error) {
    if (isNotFound(error)) return 'absent';
    throw error;
  }
}
