/** What a VM is, beside what its configuration says: attributes that only the server fills in. */
import { printByteSize } from '../../base/units.ts';
import { drivesOf } from '../../kinds/vm/disks.ts';
import { effectiveValues, type VmObserved } from '../../kinds/vm/observed.ts';
import { macsOf, propertyOf } from '../../kinds/vm/parts.ts';
import { storageOfVolume } from '../../pve/index.ts';
import { type CtyObject, type CtyType, type CtyValue, objectOf, UNKNOWN } from '../cty/value.ts';
import type { Attribute, Attributes } from '../schema/model.ts';

function computed(type: CtyType, description: string): Attribute {
  return { type: { kind: 'value', type }, given: 'computed', description };
}

/** Not nested: OpenTofu 1.10 crashes when it generates configuration for a resource with a nested attribute that is only computed. */
function computedMap(object: Readonly<Record<string, CtyType>>, description: string): Attribute {
  return computed(['map', ['object', object]], description);
}

export const COMPUTED_ATTRIBUTES: Attributes = {
  id: computed('string', 'The uuid of the VM. With its vmid it is its identity: an id alone can be recycled.'),
  current_node: computed('string', 'Where the VM is now; somebody may have migrated it.'),
  status: computed('string', '`running` or `stopped`, when last seen.'),
  macs: computed(['map', 'string'], 'MAC addresses by network slot.'),
  addresses: computed(
    ['map', ['list', 'string']],
    'IP addresses by network slot, the preferred one first; as the guest reported them when it was last waited for, or as configured.',
  ),
  primary_address: computed('string', 'The address to talk to; null where none is known yet.'),
  all_disks: computedMap(
    { kind: 'string', storage: 'string', size: 'string', volume: 'string' },
    'Every drive the VM has, by slot, also those the configuration does not mention: its `kind` (`disk`, `cdrom` or `cloud-init`), `storage` and `size`, and its `volume` as Proxmox names it.',
  ),
  all_nics: computedMap(
    { model: 'string', mac: 'string', bridge: 'string', vlan: 'number' },
    'Every network card the VM has, by slot, also those the configuration does not mention: the `model` the guest sees, its `mac` address, `bridge` and `vlan` tag.',
  ),
  restart_pending: computed(['list', 'string'], 'Attributes whose value waits for a restart.'),
  secrets_digest: computed('string', 'Changes when a secret of the VM changes; says nothing about its value.'),
};

export interface ComputedFacts {
  readonly addresses: Readonly<Record<string, readonly string[]>>;
  /** Slot through which the VM is talked to. */
  readonly managedNic: string | undefined;
  readonly restartPending: readonly string[];
  readonly secretsDigest: string | null;
}

export function computedValues(vm: VmObserved, facts: ComputedFacts): CtyObject {
  const values = effectiveValues(vm);
  const preferred = facts.managedNic === undefined ? undefined : facts.addresses[facts.managedNic]?.[0];
  return objectOf([
    ['id', vm.uuid ?? null],
    ['vmid', vm.vmid],
    ['current_node', vm.node],
    ['status', vm.running ? 'running' : 'stopped'],
    ['macs', objectOf(Object.entries(macsOf(values)))],
    ['addresses', objectOf(Object.entries(facts.addresses).map(([nic, list]) => [nic, [...list]]))],
    ['primary_address', preferred ?? null],
    ['all_disks', disks(values)],
    ['all_nics', nics(values)],
    ['restart_pending', [...facts.restartPending]],
    ['secrets_digest', facts.secretsDigest],
  ]);
}

function disks(values: ReadonlyMap<string, string>): CtyObject {
  return objectOf(
    drivesOf(values).map(({ key, kind, file, volume, sizeBytes }): [string, CtyValue] => [
      key,
      objectOf([
        ['kind', kind],
        ['storage', (volume && storageOfVolume(volume)) ?? null],
        ['size', sizeBytes === undefined ? null : printByteSize(sizeBytes)],
        ['volume', file],
      ]),
    ]),
  );
}

function nics(values: ReadonlyMap<string, string>): CtyObject {
  const cards = [...values].filter(([key]) => /^net\d+$/.test(key));
  return objectOf(
    cards.map(([key, text]): [string, CtyValue] => {
      const nic = propertyOf(key, text);
      const vlan = nic.get('tag');
      return [
        key,
        objectOf([
          ['model', nic.get('model') ?? null],
          ['mac', nic.get('macaddr') ?? null],
          ['bridge', nic.get('bridge') ?? null],
          ['vlan', vlan === undefined ? null : Number(vlan)],
        ]),
      ];
    }),
  );
}

/** Which of them a change of an attribute makes uncertain until it has been applied. */
const UNSETTLED_BY: Readonly<Record<string, readonly string[]>> = {
  disks: ['all_disks'],
  efi: ['all_disks'],
  tpm: ['all_disks'],
  cloud_init: ['all_disks', 'secrets_digest'],
  nics: ['all_nics', 'macs', 'addresses', 'primary_address'],
  node: ['current_node'],
  power: ['status'],
};

export function unsettledBy(changed: readonly string[]): ReadonlySet<string> {
  if (changed.length === 0) return new Set();
  return new Set(['restart_pending', ...changed.flatMap((name) => UNSETTLED_BY[name] ?? [])]);
}

/** Of a VM that is not made yet. */
export const UNKNOWN_COMPUTED: CtyObject = objectOf(
  Object.keys(COMPUTED_ATTRIBUTES).map((name): [string, CtyValue] => [name, UNKNOWN]),
);
