/** Random network cards: inherited ones changed or removed, new ones, with addresses of both families. */
import fc from 'fast-check';
import type { VmFieldsInput } from '../fields/index.ts';
import type { Surroundings } from './surroundings.ts';

type NicInput = NonNullable<VmFieldsInput['nics']>[string];

const NEW_SLOTS = ['net3', 'net4'];

export function nicSlots({ values, bridges }: Surroundings): fc.Arbitrary<Record<string, NicInput>> {
  const inherited = [...values.keys()].filter((key) => /^net\d+$/.test(key));
  const plain = fc.constantFrom(...bridges.map(({ name }) => name));
  // Trunks need a bridge that knows VLANs, so they come with one.
  const aware = bridges.filter(({ vlanAware }) => vlanAware).map(({ name }) => name);
  const slots = [...inherited, ...NEW_SLOTS.filter((slot) => !values.has(slot))];
  const model = slots.map((slot): [string, fc.Arbitrary<NicInput>] => {
    // And so do those of a template, which stay.
    const keepsTrunks = aware.length > 0 && /,trunks=/.test(values.get(slot) ?? '');
    const bridge = keepsTrunks ? fc.constantFrom(...aware) : plain;
    const card = nic(Number(slot.slice('net'.length)), bridge, aware, inherited.includes(slot) ? [] : ['bridge']);
    const gone = fc.constant({ remove: true as const });
    return [
      slot,
      inherited.includes(slot) ? fc.oneof({ weight: 5, arbitrary: card }, { weight: 1, arbitrary: gone }) : card,
    ];
  });
  const record = fc.record(Object.fromEntries(model), { requiredKeys: [] });
  return record as fc.Arbitrary<Record<string, NicInput>>; // left out, never undefined
}

function nic(
  index: number,
  bridge: fc.Arbitrary<string>,
  vlanAware: readonly string[],
  required: 'bridge'[],
): fc.Arbitrary<NicInput> {
  const host = fc.integer({ min: 2, max: 250 });
  const ipv4 = fc.oneof(
    fc.constant('dhcp' as const),
    host.map((last) => ({ address: `10.0.2${index}.${last}/24` })),
    host.map((last) => ({ address: `10.0.2${index}.${last}/24`, gateway: `10.0.2${index}.1` })),
  );
  const ipv6 = fc.oneof(
    fc.constantFrom('dhcp' as const, 'auto' as const),
    host.map((last) => ({ address: `fd00:${index}::${last.toString(16)}/64`, gateway: `fd00:${index}::1` })),
  );
  const flag = fc.boolean();
  const card = fc.record(
    {
      model: fc.constantFrom('virtio' as const, 'e1000' as const, 'vmxnet3' as const),
      mac: fc.constantFrom('BC:24:11:aa:00:0', 'bc:24:11:AB:00:0').map((start) => `${start}${index}`),
      bridge,
      vlan: fc.oneof(fc.constant(false as const), fc.integer({ min: 1, max: 4094 })),
      firewall: flag,
      rate: fc.constantFrom(0, 12.5, 100),
      mtu: fc.constantFrom(1, 1400),
      queues: fc.integer({ min: 1, max: 8 }),
      link_down: flag,
      ipv4,
      ipv6,
    },
    { requiredKeys: required },
  ) as fc.Arbitrary<NicInput>; // left out, never undefined
  if (vlanAware.length === 0) return card;
  const trunked = fc
    .tuple(card, fc.subarray([10, 20, 4094]), fc.constantFrom(...vlanAware))
    .map(([given, trunks, name]) => ({ ...given, trunks, bridge: name }));
  return fc.oneof({ weight: 3, arbitrary: card }, { weight: 1, arbitrary: trunked });
}
