/** /cluster/mapping: names for devices and directories that differ from node to node. One set of rules for three kinds. */
import { createHash } from 'node:crypto';
import { splitList } from '../../../pve/wire/index.ts';
import { type Call, type Params, type Routes, requiredText, text } from '../../core/call.ts';
import { mappingsOnNode, missingUsbDevice } from '../../guests/launch.ts';
import { pciMappingProblem } from '../../guests/pci-mapping.ts';
import { dieFault, paramFault } from '../../http/response.ts';
import type { MappingKind, ResourceMapping } from '../../world/world.ts';

const KINDS: readonly MappingKind[] = ['pci', 'usb', 'dir'];

/** Rule [source PM API2/Cluster/Mapping/*.pm]: the words with which each kind fails. */
const WORDS: Readonly<Record<MappingKind, { readonly failure: string; readonly name: string }>> = {
  pci: { failure: 'hardware mapping failed', name: 'pci' },
  usb: { failure: 'hardware mapping failed', name: 'usb' },
  dir: { failure: 'directory mapping failed', name: 'dir' },
};

export const mappingRoutes: Routes = Object.assign(
  {},
  ...KINDS.map(
    (kind): Routes => ({
      [`GET /cluster/mapping/${kind}`]: (call) => listMappings(call, kind),
      [`POST /cluster/mapping/${kind}`]: (call) => createMapping(call, kind),
      [`GET /cluster/mapping/${kind}/{id}`]: (call) => readMapping(call, kind),
      [`PUT /cluster/mapping/${kind}/{id}`]: (call) => updateMapping(call, kind),
      [`DELETE /cluster/mapping/${kind}/{id}`]: (call) => deleteMapping(call, kind),
    }),
  ),
);

const BOOLEAN_OPTIONS = new Set(['mdev', 'live-migration-capable']);

function mappingView(mapping: ResourceMapping, kind: MappingKind): Record<string, unknown> {
  const options = [...mapping.options].map(([key, value]) => [key, BOOLEAN_OPTIONS.has(key) ? Number(value) : value]);
  return { type: kind, map: [...mapping.map], ...Object.fromEntries(options) };
}

/** Rule [recorded perm-readonly-checks]: any of the mapping privileges opens an entry; the others are left out. */
function listMappings(call: Call, kind: MappingKind): unknown[] {
  const checkNode = text(call.params, 'check-node');
  if (checkNode !== undefined && checkNode !== 'localhost' && checkNode !== call.node) {
    throw dieFault(`wrong node to check - ${checkNode} != ${call.node}`);
  }
  const digest = digestOf(call, kind);
  return [...mappingsOf(call, kind).values()]
    .filter(({ id }) =>
      call.may(`/mapping/${kind}/${id}`, ['Mapping.Modify', 'Mapping.Use', 'Mapping.Audit'], { any: true }),
    )
    .map((mapping) => ({
      ...mappingView(mapping, kind),
      id: mapping.id,
      digest,
      ...(checkNode === undefined ? {} : { [checksKey(kind)]: checksOf(call, kind, mapping) }),
    }));
}

function checksKey(kind: MappingKind): string {
  return kind === 'usb' ? 'errors' : 'checks';
}

/** Rule [recorded mapping-pci]: whether the mapping fits the hardware of the node that is asked. */
function checksOf(call: Call, kind: MappingKind, mapping: ResourceMapping): unknown[] {
  const node = call.runtime.world.nodes.get(call.node);
  const entries = mappingsOnNode(call.runtime.world, kind, mapping.id, call.node);
  if (entries.length === 0) return [{ severity: 'warning', message: `No mapping for node ${call.node}.` }];
  if (kind === 'usb') {
    return entries.map((entry) => ({
      severity: 'error',
      message: `Invalid configuration: ${missingUsbDevice(entry)}\n`,
    }));
  }
  if (kind !== 'pci' || !node) return [];
  return entries.flatMap((entry) => {
    const problem = pciMappingProblem(node, mapping.id, entry, mapping.options);
    return problem === undefined ? [] : [{ severity: 'error', message: `Invalid configuration: ${problem}\n` }];
  });
}

function readMapping(call: Call, kind: MappingKind): unknown {
  const id = requiredText(call.params, 'id');
  const mapping = mappingsOf(call, kind).get(id);
  if (!mapping) throw dieFault(`mapping '${id}' not found`);
  return { ...mappingView(mapping, kind), digest: digestOf(call, kind) };
}

function createMapping(call: Call, kind: MappingKind): null {
  const id = requiredText(call.params, 'id');
  const mappings = mappingsOf(call, kind);
  const { failure, name } = WORDS[kind];
  if (mappings.has(id)) throw dieFault(`create ${failure}: ${name} ID '${id}' already defined`);
  mappings.set(id, { id, map: mapEntries(call.params), options: optionsOf(call.params) });
  return null;
}

function updateMapping(call: Call, kind: MappingKind): null {
  const id = requiredText(call.params, 'id');
  const { failure, name } = WORDS[kind];
  const digest = text(call.params, 'digest');
  if (digest !== undefined && digest !== digestOf(call, kind)) {
    throw dieFault(`update ${failure}: detected modified configuration - file changed by other user? Try again.`);
  }
  const mapping = mappingsOf(call, kind).get(id);
  if (!mapping) throw dieFault(`update ${failure}: ${name} ID '${id}' does not exist`);
  // Rule [recorded mapping-usb-dir]: a required option must be sent again with every update.
  if (call.params.map === undefined) throw dieFault(`update ${failure}: missing value for required option 'map'`);
  for (const key of splitList(text(call.params, 'delete') ?? '')) {
    if (key === 'map') throw paramFault({ delete: "unable to delete required option 'map'" });
    mapping.options.delete(key);
  }
  for (const [key, value] of optionsOf(call.params)) mapping.options.set(key, value);
  mapping.map = mapEntries(call.params);
  return null;
}

/** Rule [recorded ha-and-mappings-empty]: deleting what is not there is fine. */
function deleteMapping(call: Call, kind: MappingKind): null {
  mappingsOf(call, kind).delete(requiredText(call.params, 'id'));
  return null;
}

function mappingsOf(call: Call, kind: MappingKind): Map<string, ResourceMapping> {
  return call.runtime.world.mappings[kind];
}

function mapEntries(params: Params): string[] {
  const map = params.map;
  return Array.isArray(map) ? map.map(String) : [requiredText(params, 'map')];
}

function optionsOf(params: Params): Map<string, string> {
  const options = new Map<string, string>();
  for (const key of Object.keys(params)) {
    const value = text(params, key);
    if (!['id', 'map', 'digest', 'delete'].includes(key) && value !== undefined) options.set(key, value);
  }
  return options;
}

function digestOf(call: Call, kind: MappingKind): string {
  const lines = [...mappingsOf(call, kind).values()].map(({ id, map, options }) =>
    [id, ...map, ...[...options].map(([key, value]) => `${key}=${value}`)].join('\n'),
  );
  return createHash('sha1').update(lines.join('\n\n')).digest('hex');
}
