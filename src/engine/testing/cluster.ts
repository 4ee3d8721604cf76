/** A cluster as plain data, for tests of pure code: one node with two storages, and whatever a test adds. */
import { formatDiagnostic } from '../../base/diagnostics.ts';
import { Secret } from '../../base/secret.ts';
import type { StorageRow } from '../../kinds/cluster.ts';
import type { ImageSite } from '../../kinds/image/observed.ts';
import type { Observed } from '../../kinds/observed.ts';
import { machinesOf, type ResolvedStack } from '../../kinds/stack.ts';
import type { TemplateCandidate } from '../../kinds/template/observed.ts';
import type { Secrets } from '../../kinds/template/recipe.ts';
import { secretFieldsOf } from '../../kinds/vm/fields/secrets.ts';
import type { VmObserved } from '../../kinds/vm/observed.ts';
import { emptyVm } from '../../kinds/vm/privileges/forecast.ts';
import type { VmRecord } from '../../kinds/vm/record.ts';
import { loadStack, resolveStack } from '../../spec/index.ts';

export const NODE = 'pve1';
export const UUID = '11111111-0000-4000-8000-000000000001';

export function storageRow(storage: string, content: readonly string[], more: Partial<StorageRow> = {}): StorageRow {
  return {
    storage,
    type: 'dir',
    content: new Set(content),
    active: true,
    enabled: true,
    shared: false,
    availableBytes: undefined,
    formats: undefined,
    ...more,
  };
}

export const LOCAL = storageRow('local', ['iso', 'import']);
const TANK = storageRow('tank', ['images']);

export function observedWith(more: Partial<Observed> = {}): Observed {
  return {
    version: { version: '9.2.11', release: '9.2' },
    nodes: new Map([[NODE, { online: true }]]),
    guests: new Map(),
    vms: new Map(),
    templates: new Map(),
    storages: new Map([[NODE, { ok: true, value: [LOCAL, TANK] }]]),
    bridges: new Map([[NODE, { ok: true, value: new Set(['vmbr0']) }]]),
    images: [],
    pciMappings: { ok: true, value: new Map() },
    claimants: new Map(),
    locks: new Map(),
    takenIds: new Set(),
    ...more,
  };
}

export function resolvedStack(text: string): ResolvedStack {
  const { stack, diagnostics } = resolveStack(loadStack(text, 'stack.yaml'));
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  if (!stack || errors.length > 0) throw new Error(errors.map(formatDiagnostic).join('\n'));
  return stack;
}

/** Custom cloud-init files as in the stack file. */
export function secretsOf(stack: ResolvedStack): Secrets {
  return new Map(
    machinesOf(stack).map(({ address, fields }) => [
      address,
      new Map(
        secretFieldsOf(fields).map(({ path, reference }) => {
          const text = 'text' in reference ? reference.text : path;
          return [path, { value: new Secret(text), digest: `digest of ${text.length}` }] as const;
        }),
      ),
    ]),
  );
}

export function vmAt(
  vmid: number,
  values: Readonly<Record<string, string>>,
  more: Partial<VmObserved> = {},
): VmObserved {
  return { ...emptyVm(vmid, NODE), uuid: UUID, current: new Map(Object.entries(values)), ...more };
}

export function candidateAt(vm: VmObserved, more: Partial<TemplateCandidate> = {}): TemplateCandidate {
  const name = vm.current.get('name');
  return { vmid: vm.vmid, node: vm.node, name, isTemplate: vm.template, vm: { ok: true, value: vm }, ...more };
}

export function recorded(vmid: number, more: Partial<VmRecord> = {}): VmRecord {
  return {
    vmid,
    uuid: UUID,
    node: NODE,
    name: 'base',
    phase: 'complete',
    lastApplied: {},
    secrets: {},
    macs: {},
    addresses: {},
    ...more,
  };
}

/** An image of a stack on a node, absent unless a test says otherwise. */
export function siteOf(stack: ResolvedStack, more: Partial<ImageSite> = {}): ImageSite {
  const [image] = stack.images;
  if (!image) throw new Error('the stack has no image');
  return {
    image,
    node: NODE,
    row: LOCAL,
    isRead: true,
    isShared: false,
    file: { ok: true, value: undefined },
    ...more,
  };
}
