/** Random PCI, USB and serial devices and graphics. */
import fc from 'fast-check';
import type { VmFieldsInput } from '../fields/index.ts';
import type { Surroundings } from './surroundings.ts';

type Devices = Pick<VmFieldsInput, 'pci' | 'usb' | 'serial' | 'vga'>;

export function deviceFields({ pciMappings, usbMappings }: Surroundings): fc.Arbitrary<Devices> {
  const flag = fc.boolean();
  const traits = fc.record(
    { pcie: flag, primary_gpu: flag, rom_bar: flag, mdev: fc.constant('nvidia-11') },
    { requiredKeys: [] },
  );
  const pci =
    pciMappings.length === 0
      ? fc.constant(undefined)
      : fc.option(
          fc.tuple(fc.constantFrom(...pciMappings), flag, traits).map(([mapping, byAddress, more]) => ({
            hostpci0: { ...(byAddress ? { device: '0000:01:00' } : { mapping }), ...more },
          })),
          { nil: undefined },
        );
  const port = fc.oneof(
    fc.constant({ spice: true as const }),
    ...usbMappings.map((mapping) => fc.constant({ mapping })),
  );
  const usb = fc.option(
    fc.tuple(port, flag, flag).map(([given, says, usb3]) => ({ usb1: says ? { ...given, usb3 } : given })),
    { nil: undefined },
  );
  const serial = fc.option(fc.constant({ serial0: 'socket' as const }), { nil: undefined });
  const vga = fc.option(
    fc.record(
      {
        type: fc.constantFrom('std' as const, 'qxl' as const, 'virtio' as const),
        memory: fc.constantFrom('16MiB', '32MiB'),
      },
      { requiredKeys: [] },
    ),
    { nil: undefined },
  );
  return fc.tuple(pci, usb, serial, vga).map(([pciSlots, usbSlots, ports, graphics]) => ({
    ...(pciSlots && { pci: pciSlots }),
    ...(usbSlots && { usb: usbSlots }),
    ...(ports && { serial: ports }),
    ...(graphics && { vga: graphics }),
  }));
}
