/** Network cards and the addresses cloud-init gives them: netN and ipconfigN. */
import type { Binding } from './bindings.ts';
import type { Collector } from './collector.ts';
import type { DesiredField } from './desired.ts';
import type { NicFields } from './nic-fields.ts';

/** What a new card is unless the file says otherwise. */
const NEW_CARD = 'virtio';

export function wantedNic(wanted: Collector, slot: string, nic: NicFields, bindings: readonly Binding[]): void {
  const path = `nics.${slot}`;
  if (nic.remove) {
    wanted.remove(slot, path);
    return;
  }
  const { set, fields } = wanted.parts(slot, nic, bindings, path);
  wanted.property(slot, set, fields, NEW_CARD);
  const key = `ipconfig${slot.slice('net'.length)}`;
  wantAddress(wanted, key, `${path}.ipv4`, nic.ipv4, 'ip', 'gw');
  wantAddress(wanted, key, `${path}.ipv6`, nic.ipv6, 'ip6', 'gw6');
}

function wantAddress(
  wanted: Collector,
  key: string,
  path: string,
  given: NicFields['ipv4'] | NicFields['ipv6'],
  addressPart: string,
  gatewayPart: string,
): void {
  if (given === undefined) return;
  const address = typeof given === 'string' ? given : given.address;
  // By keyword the gateway comes from the network; one that was set before would make the value invalid.
  const gateway = typeof given === 'string' ? null : given.gateway;
  const addressField: DesiredField = { path: `${path}.address`, value: address, words: 'text', parts: [addressPart] };
  wanted.property(key, { [addressPart]: address }, [addressField]);
  if (gateway === undefined) return;
  const gatewayField: DesiredField = { path: `${path}.gateway`, value: gateway, words: 'text', parts: [gatewayPart] };
  wanted.property(key, { [gatewayPart]: gateway ?? undefined }, [gatewayField]);
}
