/** /cluster/mapping: names for devices and directories that differ from node to node. One set of rules for three kinds. */
import { createHash } from 'node:crypto';
import { splitList } from '../../../pve/wire/index.ts';
import type { Call, CallTo, Routes } from '../../core/call.ts';
import { mappingEntry, mappingsOnNode, missingUsbDevice, pciMappingProblem } from '../../guests/launch.ts';
import { dieFault, paramFault } from '../../http/response.ts';
import { type ParamTexts, sentTexts } from '../../schema/validate.ts';
import { isHostDirectory } from '../../storage/places.ts';
import type { MappingKind, ResourceMapping } from '../../world/world.ts';

/** Rule [source PM API2/Cluster/Mapping/*.pm]: the error prefix of each kind. */
const WORDS: Readonly<Record<MappingKind, { readonly failure: string; readonly name: string }>> = {
  pci: { failure: 'hardware mapping failed', name: 'pci' },
  usb: { failure: 'hardware mapping failed', name: 'usb' },
  dir: { failure: 'directory mapping failed', name: 'dir' },
};

export const mappingRoutes: Routes = {
  'GET /cluster/mapping/pci': (call) => listMappings(call, 'pci'),
  'POST /cluster/mapping/pci': (call) => createMapping(call, 'pci'),
  'GET /cluster/mapping/pci/{id}': (call) => readMapping(call, 'pci'),
  'PUT /cluster/mapping/pci/{id}': (call) => updateMapping(call, 'pci'),
  'DELETE /cluster/mapping/pci/{id}': (call) => deleteMapping(call, 'pci'),
  'GET /cluster/mapping/usb': (call) => listMappings(call, 'usb'),
  'POST /cluster/mapping/usb': (call) => createMapping(call, 'usb'),
  'GET /cluster/mapping/usb/{id}': (call) => readMapping(call, 'usb'),
  'PUT /cluster/mapping/usb/{id}': (call) => updateMapping(call, 'usb'),
  'DELETE /cluster/mapping/usb/{id}': (call) => deleteMapping(call, 'usb'),
  'GET /cluster/mapping/dir': (call) => listMappings(call, 'dir'),
  'POST /cluster/mapping/dir': (call) => createMapping(call, 'dir'),
  'GET /cluster/mapping/dir/{id}': (call) => readMapping(call, 'dir'),
  'PUT /cluster/mapping/dir/{id}': (call) => updateMapping(call, 'dir'),
  'DELETE /cluster/mapping/dir/{id}': (call) => deleteMapping(call, 'dir'),
};

interface Id {
  readonly id: string;
}

interface MappingUpdate extends Id {
  readonly map?: readonly string[];
  readonly digest?: string;
  readonly delete?: string;
}

const BOOLEAN_OPTIONS = new Set(['mdev', 'live-migration-capable']);

function mappingView(mapping: ResourceMapping, kind: MappingKind): Record<string, unknown> {
  const options = [...mapping.options].map(([key, value]) => [key, BOOLEAN_OPTIONS.has(key) ? Number(value) : value]);
  return { type: kind, map: [...mapping.map], ...Object.fromEntries(options) };
}

/** Rule [recorded perm-readonly-checks]: any of the mapping privileges shows an entry; other entries are left out. */
function listMappings(call: CallTo<'GET /cluster/mapping/pci'>, kind: MappingKind): unknown[] {
  const checkNode = call.params['check-node'];
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

/** Rule [recorded mapping-pci]: whether the mapping matches the hardware of the queried node. */
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

function readMapping(call: Call<Id>, kind: MappingKind): unknown {
  const { id } = call.params;
  const mapping = mappingsOf(call, kind).get(id);
  if (!mapping) throw dieFault(`mapping '${id}' not found`);
  return { ...mappingView(mapping, kind), digest: digestOf(call, kind) };
}

function createMapping(call: Call<Id & { readonly map: readonly string[] }>, kind: MappingKind): null {
  const { id, map } = call.params;
  const mappings = mappingsOf(call, kind);
  const { failure, name } = WORDS[kind];
  if (kind === 'dir') assertDirectories(call, map);
  if (mappings.has(id)) throw dieFault(`create ${failure}: ${name} ID '${id}' already defined`);
  mappings.set(id, { id, map: [...map], options: optionsOf(call.texts) });
  return null;
}

function updateMapping(call: Call<MappingUpdate>, kind: MappingKind): null {
  const { id, map, digest } = call.params;
  const { failure, name } = WORDS[kind];
  if (digest !== undefined && digest !== digestOf(call, kind)) {
    throw dieFault(`update ${failure}: detected modified configuration - file changed by other user? Try again.`);
  }
  const mapping = mappingsOf(call, kind).get(id);
  if (!mapping) throw dieFault(`update ${failure}: ${name} ID '${id}' does not exist`);
  // Rule [recorded mapping-usb-dir]: a required option must be sent again with every update.
  if (map === undefined) throw dieFault(`update ${failure}: missing value for required option 'map'`);
  if (kind === 'dir') assertDirectories(call, map, `update ${failure}: `);
  for (const key of splitList(call.params.delete ?? '')) {
    if (key === 'map') throw paramFault({ delete: "unable to delete required option 'map'" });
    mapping.options.delete(key);
  }
  for (const [key, value] of optionsOf(call.texts)) mapping.options.set(key, value);
  mapping.map = [...map];
  return null;
}

/**
 * Rule [recorded config-virtiofs-dir-mapping]: the queried node must have the directory, and no node may appear twice.
 */
function assertDirectories(call: Call, map: readonly string[], prefix = ''): void {
  const entries = map.map(mappingEntry);
  for (const entry of entries) {
    const path = entry.get('path') ?? '';
    if (entry.get('node') !== call.node || isHostDirectory(call.runtime.world, call.node, path)) continue;
    throw dieFault(`${prefix}Path ${path} does not exist`);
  }
  const nodes = entries.map((entry) => entry.get('node'));
  for (const node of nodes) {
    const count = nodes.filter((other) => other === node).length;
    if (count > 1) throw dieFault(`${prefix}Node '${node}' is specified ${count} times.`);
  }
}

/** Rule [recorded ha-and-mappings-empty]: deleting a missing mapping succeeds. */
function deleteMapping(call: Call<Id>, kind: MappingKind): null {
  mappingsOf(call, kind).delete(call.params.id);
  return null;
}

function mappingsOf(call: Call, kind: MappingKind): Map<string, ResourceMapping> {
  return call.runtime.world.mappings[kind];
}

function optionsOf(texts: ParamTexts): Map<string, string> {
  return new Map(sentTexts(texts).filter(([key]) => !['id', 'map', 'digest', 'delete'].includes(key)));
}

function digestOf(call: Call, kind: MappingKind): string {
  const lines = [...mappingsOf(call, kind).values()].map(({ id, map, options }) =>
    [id, ...map, ...[...options].map(([key, value]) => `${key}=${value}`)].join('\n'),
  );
  return createHash('sha1').update(lines.join('\n\n')).digest('hex');
}
