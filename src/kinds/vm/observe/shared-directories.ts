/**
 * Directories of the host that VMs share. Proxmox accepts a directory mapping that does not exist, and then never starts the
 * VM; so mappings are read and checked before anything is written.
 */

import type { Diagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { closest } from '../../../base/text/closest.ts';
import { nodeCommand } from '../../../base/text/node-command.ts';
import type { Pve } from '../../../pve/client.ts';
import { hasEndpoint } from '../../../pve/compatibility.ts';
import { splitProperty } from '../../../pve/wire/index.ts';
import { MAX_AGE_MS, type Readable } from '../../cluster.ts';
import { whereOf } from '../../fields/positions.ts';
import type { Observed } from '../../observed.ts';
import { propertyOf } from '../config/parts.ts';
import type { ResolvedVm } from '../stack.ts';
import type { DirectoryNodes } from './observed-vms.ts';

interface SharedDirectory {
  readonly path: string;
  readonly mapping: string;
}

/** Of the fields, and of raw keys. */
function directoriesOf({ fields: { virtiofs = {}, extra = {} } }: ResolvedVm): SharedDirectory[] {
  const raw = Object.entries(extra).filter(([key]) => /^virtiofs\d$/.test(key));
  return [
    ...Object.entries(virtiofs).map(([slot, { mapping }]) => ({ path: `virtiofs.${slot}.mapping`, mapping })),
    ...raw.flatMap(([key, value]) => {
      const mapping = propertyOf(key, String(value)).get('dirid');
      return mapping === undefined ? [] : [{ path: `extra.${key}`, mapping }];
    }),
  ];
}

/** Nothing is read if no VM shares a directory. */
export async function observeDirectories(
  { pve, signal }: { readonly pve: Pve; readonly signal: AbortSignal | undefined },
  vms: readonly ResolvedVm[],
): Promise<Pick<Observed, 'directories'>> {
  const named = new Set(vms.flatMap(directoriesOf).map(({ mapping }) => mapping));
  if (named.size === 0 || !hasEndpoint(await pve.authenticate({ signal }), '/cluster/mapping/dir')) return {};
  const listed = await pve.cluster.mapping.dir({}, { signal, maxAgeMs: MAX_AGE_MS.places });
  const known = new Map(listed.map(({ id, map }) => [id, new Map(map.flatMap(nodeAndEntry))]));
  const used = await Promise.all(
    [...named].map(async (name): Promise<[string, Readable<DirectoryNodes>]> => {
      const nodes = known.get(name);
      // The list omits what the token may not see, so only a token that would see the mapping can tell that it is
      // missing.
      if (nodes || (await seesMapping(name))) return [name, { ok: true, value: nodes }];
      return [name, { ok: false, needs: `Mapping.Use on ${pathOf(name)}` }];
    }),
  );
  return { directories: { names: [...known.keys()], used: new Map(used) } };

  async function seesMapping(name: string): Promise<boolean> {
    const path = pathOf(name);
    const granted = await pve.access.permissions({ path }, { signal, maxAgeMs: MAX_AGE_MS.grants });
    return Object.keys(granted[path] ?? {}).some((privilege) => privilege.startsWith('Mapping.'));
  }
}

const pathOf = (name: string) => `/mapping/dir/${name}`;

function nodeAndEntry(entry: string): [string, string][] {
  return splitProperty(entry).flatMap(({ key, value }): [string, string][] => (key === 'node' ? [[value, entry]] : []));
}

export function missingDirectories(vm: ResolvedVm, { directories }: Observed): Diagnostic[] {
  const { node } = vm.fields;
  return directoriesOf(vm).flatMap(({ path, mapping }) => {
    const found = directories?.used.get(mapping);
    if (!found?.ok || found.value?.has(node)) return [];
    const nodes = [...(found.value?.keys() ?? [])];
    const guess = found.value ? undefined : closest(mapping, directories?.names ?? []);
    const problem = found.value
      ? `The directory mapping "${mapping}" has no directory on ${node}${nodes.length === 0 ? '' : `, only on ${nodes.join(', ')}`}.`
      : `There is no directory mapping "${mapping}".`;
    return new ProxwrightError({
      code: 'MISSING_REFERENCE',
      where: whereOf(vm, path),
      detail: `${problem} Proxmox would accept the name and never start the VM.`,
      hint: guess
        ? `Did you mean "${guess}"?`
        : `Add it under Datacenter, Resource Mappings, or on a node: ${addDirectory(mapping, node, found.value)}`,
    }).diagnostic;
  });
}

/** `set` replaces the whole list, so the entries of other nodes are named again. */
function addDirectory(mapping: string, node: string, entries: DirectoryNodes): string {
  const map = [...(entries?.values() ?? []), `node=${node},path=/DIRECTORY`];
  if (!entries) return nodeCommand('pvesh create', ['/cluster/mapping/dir'], { id: mapping, map });
  return nodeCommand('pvesh set', [`/cluster/mapping/dir/${mapping}`], { map });
}

/** Names whose mapping the token may not read, with the field and the privilege. */
export function unreadDirectories(
  vm: ResolvedVm,
  { directories }: Observed,
): readonly (SharedDirectory & { readonly needs: string })[] {
  return directoriesOf(vm).flatMap((each) => {
    const found = directories?.used.get(each.mapping);
    return found && !found.ok ? [{ ...each, needs: found.needs }] : [];
  });
}
