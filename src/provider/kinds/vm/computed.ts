/** The attributes that the server fills in, read from an observed VM. */
import { printByteSize } from '../../../base/values/units.ts';
import { drivesOf } from '../../../kinds/vm/config/disks.ts';
import { macsOf, propertyOf } from '../../../kinds/vm/config/parts.ts';
import { effectiveValues, type VmObserved } from '../../../kinds/vm/observed.ts';
import { storageOfVolume } from '../../../pve/index.ts';
import { type CtyObject, type CtyValue, objectOf } from '../../cty/value.ts';

export interface ComputedFacts {
  readonly addresses: Readonly<Record<string, readonly string[]>>;
  /** The network slot that the VM is reached through. */
  readonly managedNic: string | undefined;
  readonly restartPending: readonly string[];
  readonly secretsDigest: string | null;
}

/** The computed attributes of a VM, and its vmid. */
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
