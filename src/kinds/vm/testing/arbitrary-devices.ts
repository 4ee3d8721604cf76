/** Random devices of a VM: PCI, USB, serial, graphics, NICs and disks. */

import fc from 'fast-check';
import { printByteSize } from '../../../base/values/units.ts';
import { type Drive, drivesOf } from '../config/disks.ts';
import type { VmFieldsInput } from '../fields/index.ts';
import type { VmSite } from './vm-site.ts';

type Devices = Pick<VmFieldsInput, 'pci' | 'usb' | 'serial' | 'vga' | 'virtiofs'>;

export function deviceFields({ pciMappings, usbMappings, dirMappings, asRoot }: VmSite): fc.Arbitrary<Devices> {
  const flag = fc.boolean();
  const id = fc.constantFrom('0x10de', '0x1AF4');
  const traits = fc.record(
    {
      pcie: flag,
      primary_gpu: flag,
      rom_bar: flag,
      mdev: fc.constant('nvidia-11'),
      legacy_igd: flag,
      vendor_id: id,
      device_id: id,
      sub_vendor_id: id,
      sub_device_id: id,
      ...(asRoot && { rom_file: fc.constantFrom('vbios.bin', 'other.rom') }),
    },
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
  const type = fc.constantFrom('std' as const, 'qxl' as const, 'virtio' as const);
  const clipboard = fc.constantFrom(false as const, 'vnc' as const);
  const memory = fc.constantFrom('16MiB', '32MiB');
  // A template's card may have no screen, and then no clipboard either.
  const vga = fc.option(
    fc.oneof(
      fc.record({ type, memory }, { requiredKeys: [] }),
      fc.record({ type, memory, clipboard }, { requiredKeys: ['type'] }),
    ),
    { nil: undefined },
  );
  const share = fc.record(
    {
      mapping: fc.constantFrom(...dirMappings),
      cache: fc.constantFrom('auto' as const, 'never' as const),
      direct_io: flag,
      expose_xattr: flag,
      expose_acl: flag,
    },
    { requiredKeys: ['mapping'] },
  );
  const shares =
    dirMappings.length === 0
      ? fc.constant(undefined)
      : fc.option(
          share.map((virtiofs2) => ({ virtiofs2 })),
          { nil: undefined },
        );
  return fc.tuple(pci, usb, serial, vga, shares).map(([pciSlots, usbSlots, ports, graphics, directories]) => ({
    ...(pciSlots && { pci: pciSlots }),
    ...(usbSlots && { usb: usbSlots }),
    ...(ports && { serial: ports }),
    ...(graphics && { vga: graphics }),
    ...(directories && { virtiofs: directories }),
  }));
}

type NicInput = NonNullable<VmFieldsInput['nics']>[string];

const NEW_NIC_SLOTS = ['net3', 'net4'];

export function nicSlots({ values, bridges }: VmSite): fc.Arbitrary<Record<string, NicInput>> {
  const inherited = [...values.keys()].filter((key) => /^net\d+$/.test(key));
  const plain = fc.constantFrom(...bridges.map(({ name }) => name));
  // Trunks need a bridge that knows VLANs, so they come with one.
  const aware = bridges.filter(({ vlanAware }) => vlanAware).map(({ name }) => name);
  const slots = [...inherited, ...NEW_NIC_SLOTS.filter((slot) => !values.has(slot))];
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
      model: fc.constantFrom('virtio' as const, 'e1000' as const, 'vmxnet3' as const, 'ne2k_pci' as const),
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

type DiskInput = NonNullable<VmFieldsInput['disks']>[string];

const GIB = 1024 ** 3;
const NEW_DISK_SLOTS = ['scsi5', 'scsi7', 'virtio3', 'sata1', 'ide3'];

export function diskSlots(site: VmSite): fc.Arbitrary<Record<string, DiskInput>> {
  const { values } = site;
  const inherited = drivesOf(values).filter(({ key }) => /^(ide|sata|scsi|virtio)/.test(key));
  const model: Record<string, fc.Arbitrary<DiskInput>> = {};
  for (const drive of inherited) {
    if (drive.kind === 'disk') model[drive.key] = inheritedDisk(drive);
    if (drive.kind === 'cdrom') model[drive.key] = fc.oneof(cdDrive(site), fc.constant({ remove: true as const }));
  }
  for (const slot of NEW_DISK_SLOTS) if (!values.has(slot)) model[slot] = newDrive(slot, site);
  return fc.record(model, { requiredKeys: [] }) as fc.Arbitrary<Record<string, DiskInput>>; // left out, never undefined
}

function inheritedDisk(drive: Drive): fc.Arbitrary<DiskInput> {
  const sizeBytes = drive.sizeBytes ?? GIB;
  const grown = fc.constantFrom(0, 1, 7).map((more) => printByteSize(sizeBytes + more * GIB));
  const changed = fc
    .tuple(fc.option(grown, { nil: undefined }), options(drive.key))
    .map(([size, others]): DiskInput => ({ ...others, ...(size !== undefined && { size }) }));
  return fc.oneof({ weight: 5, arbitrary: changed }, { weight: 1, arbitrary: fc.constant({ remove: true as const }) });
}

function newDrive(slot: string, site: VmSite): fc.Arbitrary<DiskInput> {
  const { storages, imports } = site;
  const place = fc
    .constantFrom(...storages)
    .chain(({ id, formats }) =>
      formats.length > 1
        ? fc.option(fc.constantFrom(...formats), { nil: undefined }).map((format) => ({ id, format }))
        : fc.constant({ id, format: undefined }),
    );
  const source =
    imports.length === 0 ? fc.constant(undefined) : fc.option(fc.constantFrom(...imports), { nil: undefined });
  const size = fc.constantFrom('1GiB', '2560MiB', '32GiB');
  const disk = fc.tuple(place, source, size, fc.boolean(), options(slot)).map(
    ([{ id, format }, from, bytes, sized, others]): DiskInput => ({
      ...others,
      storage: id,
      ...(format !== undefined && { format }),
      ...(from !== undefined && { import_from: from }),
      // An imported disk is as large as its source; it can only grow.
      ...((from === undefined || sized) && { size: from === undefined ? bytes : '32GiB' }),
    }),
  );
  const canBeCd = !slot.startsWith('virtio');
  return canBeCd ? fc.oneof({ weight: 3, arbitrary: disk }, { weight: 1, arbitrary: cdDrive(site) }) : disk;
}

function cdDrive({ isos }: VmSite): fc.Arbitrary<DiskInput> {
  return fc.constantFrom<string | false>(false, ...isos).map((iso) => ({ iso }));
}

/** What the bus knows: IDE has no threads, virtio no SSD flag. */
function options(slot: string): fc.Arbitrary<DiskInput> {
  const flag = fc.boolean();
  const onQueues = /^(scsi|virtio)/.test(slot);
  return fc.record(
    {
      cache: fc.constantFrom('none' as const, 'writeback' as const),
      aio: fc.constantFrom('native' as const, 'threads' as const, 'io_uring' as const),
      discard: flag,
      detect_zeroes: flag,
      ...(!slot.startsWith('virtio') && { ssd: flag }),
      ...(onQueues && { io_thread: flag, read_only: flag }),
      backup: flag,
      replicate: flag,
      serial: fc.constantFrom('SN-1', 'disk_2.x'),
      ...(!slot.startsWith('virtio') && { wwn: fc.constantFrom('0x5000c500a0b1c2d3', '0x5000C500A0B1C2D4') }),
      ...(slot.startsWith('scsi') && {
        vendor: fc.constantFrom('ACME', 'Other-1'),
        product: fc.constantFrom('Disk_9000', 'X'),
        queues: fc.integer({ min: 2, max: 8 }),
      }),
      read_error: fc.constantFrom('ignore' as const, 'report' as const, 'stop' as const),
      write_error: fc.constantFrom('enospc' as const, 'report' as const),
      shared: flag,
      snapshot: flag,
      limits: diskLimits,
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<DiskInput>; // left out, never undefined
}

/** Limits for both directions or one for each, and bursts only above a limit: Proxmox refuses anything else. */
const diskLimits: fc.Arbitrary<NonNullable<DiskInput['limits']>> = fc
  .tuple(limitsOf('mbps', fc.constantFrom(100, 0.5, 12.25)), limitsOf('iops', fc.integer({ min: 1, max: 5000 })))
  .map(([mbps, iops]) => ({ ...mbps, ...iops }));

function limitsOf(unit: 'mbps' | 'iops', limit: fc.Arbitrary<number>): fc.Arbitrary<Record<string, number | string>> {
  const burst = fc.option(fc.tuple(fc.constantFrom(1, 2), fc.option(fc.constantFrom('1s', '90s'))));
  const limited = (name: string) =>
    fc.tuple(limit, burst).map(([value, more]) => ({
      [name]: value,
      ...(more && { [`${name}_burst`]: value * more[0] }),
      ...(more?.[1] && { [`${name}_burst_length`]: more[1] }),
    }));
  const none = fc.constant({});
  const each = fc
    .tuple(fc.oneof(none, limited(`read_${unit}`)), fc.oneof(none, limited(`write_${unit}`)))
    .map(([read, write]) => ({ ...read, ...write }));
  return fc.oneof({ weight: 2, arbitrary: each }, { weight: 1, arbitrary: limited(unit) });
}
