/**
 * Random VMs that are valid on a given template: for the laws of this folder and for tests of the whole engine. Every field
 * of the table that reaches Proxmox is drawn now and then; a test counts them.
 */

import fc from 'fast-check';
import { printByteSize } from '../../../base/values/units.ts';
import { drivesOf } from '../config/disks.ts';
import { type HaFields, haFields } from '../fields/ha.ts';
import { type VmFields, type VmFieldsInput, vmFieldsSchema } from '../fields/index.ts';
import { appliedHa } from '../ha.ts';
import { deviceFields, diskSlots, nicSlots } from './arbitrary-devices.ts';
import type { VmSite } from './vm-site.ts';

const GIB = 1024 ** 3;

export function vmFieldsArbitrary(site: VmSite): fc.Arbitrary<VmFields> {
  return fc
    .tuple(
      machineFields(site),
      computing(site),
      people(),
      platform(site),
      diskSlots(site),
      nicSlots(site),
      deviceFields(site),
      cloudInit(site),
    )
    .chain(([machine, compute, person, board, disks, nics, devices, cloud]) => {
      const input: VmFieldsInput = {
        name: 'generated',
        node: site.node,
        ...(site.template !== undefined && { clone: { template: site.template } }),
        ...person,
        ...compute,
        ...board,
        ...machine,
        // Windows does not mount a directory with access control lists.
        ...(machine.os_type === 'win11' ? { ...devices, virtiofs: {} } : devices),
        ...(cloud && { cloud_init: cloud }),
        ...(Object.keys(disks).length > 0 && { disks }),
        ...(Object.keys(nics).length > 0 && { nics }),
      };
      return bootOrder(site, input).map((boot) => vmFieldsSchema.parse({ ...input, ...(boot && { boot }) }));
    });
}

/** Some devices that the VM will have, in some order; often none, so that the template's order stays. */
function bootOrder({ values }: VmSite, input: VmFieldsInput): fc.Arbitrary<string[] | undefined> {
  const slots = { ...input.disks, ...input.nics };
  const inherited = [...values.keys()].filter((key) => /^(scsi|virtio|sata|ide|net)\d+$/.test(key) && !(key in slots));
  const named = Object.entries(slots).flatMap(([key, fields]) => (fields.remove ? [] : [key]));
  const devices = [...inherited, ...named, ...Object.keys(input.usb ?? {}), ...Object.keys(input.pci ?? {})];
  if (devices.length === 0) return fc.constant(undefined);
  return fc.option(fc.shuffledSubarray(devices, { minLength: 1 }), { nil: undefined });
}

function some<Fields extends Record<string, unknown>>(model: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> }) {
  return fc.record(model, { requiredKeys: [] });
}

function people() {
  return some({
    description: fc.constantFrom(
      'Web server.',
      'First line.\n\n* second = 50%\n',
      'Ümläut, "quotes" and # hashes',
      '0',
    ),
    tags: fc.uniqueArray(fc.constantFrom('web', 'Prod', 'k3s', 'a.b+c-d', '_x'), { maxLength: 4 }),
    ownership: fc.constantFrom('line' as const, 'off' as const),
    on_boot: fc.boolean(),
    protection: fc.boolean(),
    startup: some({ order: fc.nat(50), up: fc.constantFrom('30s', '2m'), down: fc.constantFrom('1m', '90s') }),
    agent: fc.record(
      {
        enabled: fc.boolean(),
        trim: fc.boolean(),
        freeze: fc.boolean(),
        type: fc.constantFrom('virtio' as const, 'isa' as const),
      },
      { requiredKeys: ['enabled'] },
    ),
  });
}

/** The virtual board, and devices that few VMs need. */
function platform({ asRoot, snippets }: VmSite) {
  const text = fc.constantFrom('ACME, Inc.', 'Größe = 1; "x"', 'A1');
  const flag = fc.boolean();
  const byAnyone = some({
    smbios: some({ serial: text, manufacturer: text, product: text, version: text, sku: text, family: text }),
    acpi: flag,
    kvm: flag,
    local_time: flag,
    time_drift_fix: flag,
    keyboard: fc.constantFrom('de' as const, 'en-us' as const),
    allow_ksm: flag,
    watchdog: some({
      model: fc.constantFrom('i6300esb' as const, 'ib700' as const),
      action: fc.constantFrom('reset' as const, 'poweroff' as const),
    }),
    audio: fc.record(
      {
        device: fc.constantFrom('ich9-intel-hda' as const, 'AC97' as const),
        driver: fc.constantFrom('spice' as const, 'none' as const),
      },
      { requiredKeys: ['device'] },
    ),
    migration: some({
      max_downtime: fc.constantFrom('100ms', '2s', '1500ms'),
      speed_mbps: fc.constantFrom(0, 250),
    }),
  });
  const byRoot = some({
    spice: some({ folder_sharing: flag, video_streaming: fc.constantFrom('off' as const, 'filter' as const) }),
    hugepages: some({ size: fc.constantFrom('any' as const, '2MiB' as const, '1GiB' as const), keep: flag }),
    amd_sev: fc.record(
      {
        type: fc.constantFrom('std' as const, 'es' as const, 'snp' as const),
        no_debug: flag,
        no_key_sharing: flag,
        kernel_hashes: flag,
        allow_smt: flag,
      },
      { requiredKeys: ['type'] },
    ),
    intel_tdx: fc.record(
      {
        type: fc.constant('tdx' as const),
        attestation: flag,
        vsock_cid: fc.constantFrom(2, 7),
        vsock_port: fc.constantFrom(4050, 5000),
      },
      { requiredKeys: ['type'] },
    ),
    args: fc.constantFrom('-no-reboot', '-name a,debug-threads=on'),
    ...(snippets.length > 0 && { hook_script: fc.constantFrom(...snippets) }),
  });
  return asRoot ? fc.tuple(byAnyone, byRoot).map(([all, more]) => ({ ...all, ...more })) : byAnyone;
}

function computing({ asRoot }: VmSite) {
  return fc
    .tuple(
      some({
        cores: fc.integer({ min: 1, max: 8 }),
        sockets: fc.integer({ min: 1, max: 2 }),
        type: fc.constantFrom('host', 'x86-64-v2-AES', 'kvm64'),
        flags: fc.subarray(['+aes', '-pcid', '+pdpe1gb']),
        hidden: fc.boolean(),
        hv_vendor_id: fc.constantFrom('proxmox', 'Other1'),
        phys_bits: fc.constantFrom(40, 'host' as const),
        guest_phys_bits: fc.constantFrom(39, 48),
        level: fc.constantFrom(30, 0),
        ...(asRoot && { affinity: fc.constantFrom('0', '0,2-3') }),
        limit: fc.constantFrom(0, 1.5, 4),
        units: fc.integer({ min: 1, max: 10_000 }),
        numa: fc.boolean(),
      }),
      fc.boolean(),
      fc.option(fc.integer({ min: 2, max: 32 }), { nil: undefined }),
      fc.option(fc.tuple(fc.boolean(), fc.constantFrom('bind' as const, 'interleave' as const)), { nil: undefined }),
      fc.option(fc.constantFrom(false as const, '1GiB', '512MiB'), { nil: undefined }),
      fc.option(fc.subarray(['network', 'disk', 'usb', 'cpu', 'cloudinit'] as const), { nil: undefined }),
    )
    .map(([drawn, limitsCpus, memoryGiB, layout, balloon, hotplug]) => {
      const nodes = layout && memoryGiB !== undefined ? numaNodes(memoryGiB, ...layout) : undefined;
      const cpu = { ...drawn, ...(limitsCpus && { vcpus: 1 }), ...(nodes && { numa: true, cores: 2 }) };
      return { cpu, memoryGiB, nodes, balloon, hotplug };
    })
    .map(({ cpu, memoryGiB, nodes, balloon, hotplug }) => ({
      ...(Object.keys(cpu).length > 0 && { cpu }),
      ...(nodes && { numa_nodes: nodes }),
      ...(memoryGiB !== undefined && { memory: printByteSize(memoryGiB * GIB) }),
      // The server refuses a balloon above the memory, so it comes only with one that is large enough.
      ...(balloon !== undefined && (balloon === false || memoryGiB !== undefined) && { balloon }),
      ...(hotplug && { hotplug: [...hotplug] }),
    }));
}

/** Together they have the memory of the VM, and its CPUs. */
function numaNodes(memoryGiB: number, isBound: boolean, policy: 'bind' | 'interleave') {
  const host = isBound && { host_nodes: ['0'], policy };
  return {
    numa0: { cpus: ['0'], memory: '1GiB', ...host },
    numa1: { cpus: ['1-1'], memory: `${memoryGiB - 1}GiB`, ...host },
  };
}

function machineFields({ values, storages, imports, tpmStates }: VmSite) {
  const storage = fc.constantFrom(...storages.map(({ id }) => id));
  const source = imports.length > 0 && { import_from: fc.constantFrom(...imports) };
  const efi = fc
    .record(
      {
        storage,
        type: fc.constantFrom('2m' as const, '4m' as const),
        secure_boot: fc.boolean(),
        ms_cert: fc.constantFrom('2011' as const, '2023' as const, '2023k' as const),
        ...source,
      },
      { requiredKeys: ['storage'] },
    )
    // Certificates are added to the keys of secure boot.
    .map((each) => (each.ms_cert === undefined ? each : { ...each, secure_boot: true }));
  const tpm = fc.record(
    {
      storage,
      version: fc.constantFrom('v1.2' as const, 'v2.0' as const),
      ...(tpmStates.length > 0 && { import_from: fc.constantFrom(...tpmStates) }),
    },
    { requiredKeys: ['storage'] },
  );
  const os = fc.constantFrom('l26' as const, 'win11' as const, 'other' as const);
  return fc
    .tuple(
      some({
        machine: fc.constantFrom('q35', 'pc'),
        os_type: os,
        scsi_controller: fc.constantFrom('virtio-scsi-single' as const, 'virtio-scsi-pci' as const, 'lsi' as const),
        tablet: fc.boolean(),
        extra: fc.dictionary(fc.constantFrom('reboot', 'autostart', 'freeze'), fc.boolean(), { maxKeys: 3 }),
      }),
      fc.option(
        fc.tuple(
          fc.constantFrom('/dev/urandom' as const, '/dev/random' as const, '/dev/hwrng' as const),
          some({ max_bytes: fc.constantFrom(0, 512), period: fc.constantFrom('1s', '250ms') }),
        ),
        { nil: undefined },
      ),
      fc.option(
        fc.tuple(
          fc.constantFrom(false as const, 'intel' as const, 'virtio' as const),
          some({ s3: fc.boolean(), s4: fc.boolean(), address_bits: fc.constantFrom(39, 48) }),
        ),
        { nil: undefined },
      ),
      fc.option(fc.tuple(fc.constantFrom('seabios' as const, 'ovmf' as const), efi), { nil: undefined }),
      fc.option(tpm, { nil: undefined }),
    )
    .map(([machine, random, board, firmware, state]) => ({
      ...machine,
      ...(random && { rng: random[0], rng_limit: random[1] }),
      ...(board && machineOptions(...board)),
      ...(firmware && { bios: firmware[0] }),
      // One that the template has stays as it is; a new one needs the firmware that reads it.
      ...(firmware?.[0] === 'ovmf' && !values.has('efidisk0') && { efi: firmware[1] }),
      ...(state && !values.has('tpmstate0') && { tpm: state }),
    }));
}

/** Only q35 has Intel's IOMMU, and only an IOMMU has a width. */
function machineOptions(
  viommu: false | 'intel' | 'virtio',
  { address_bits: bits, ...states }: { readonly s3?: boolean; readonly s4?: boolean; readonly address_bits?: number },
) {
  const options = { viommu, ...states, ...(viommu !== false && bits !== undefined && { address_bits: bits }) };
  return { machine_options: options, ...(viommu === 'intel' && { machine: 'q35' }) };
}

function cloudInit({ values, storages, snippets }: VmSite) {
  const hasDrive = drivesOf(values).some((drive) => drive.kind === 'cloud-init');
  const isFree = (slot: string) => !values.has(slot);
  // The generator of disks leaves sata4 and sata5 free.
  const slot = fc.constantFrom(...['sata5', 'sata4'].filter(isFree));
  const given = fc.record(
    {
      storage: fc.constantFrom(...storages.map(({ id }) => id)),
      slot,
      user: fc.constantFrom('ubuntu', 'core'),
      password: fc.constant({ env: 'GUEST_PASSWORD' }),
      ssh_keys: fc.subarray([ED25519_KEY, `${ED25519_KEY.slice(0, -1)}g ops@example`]),
      dns: some({
        servers: fc.subarray(['10.0.20.1', '9.9.9.9', 'fd00::53']),
        domain: fc.constantFrom('lab', 'example.org'),
      }),
      upgrade: fc.boolean(),
      type: fc.constantFrom('nocloud' as const, 'configdrive2' as const),
      ...(snippets.length > 0 && {
        snippets: some({
          user: fc.constantFrom(...snippets),
          network: fc.constantFrom(...snippets),
          meta: fc.constantFrom(...snippets),
          vendor: fc.constantFrom(...snippets),
        }),
      }),
    },
    { requiredKeys: hasDrive ? [] : ['storage', 'slot'] },
  );
  return fc.option(given, { nil: undefined });
}

const ED25519_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2FZ0gqvKQMlVZ9dJVQUKKGVV4u8fXmh4JvkQeS0GbW';

/** Now and then none at all; the state fits the power. */
export function haArbitrary(power: 'running' | 'stopped'): fc.Arbitrary<HaFields | undefined> {
  const states =
    power === 'running' ? (['started', 'ignored'] as const) : (['stopped', 'disabled', 'ignored'] as const);
  const managed = fc.record(
    {
      state: fc.constantFrom(...states),
      max_restart: fc.nat(4),
      max_relocate: fc.nat(4),
      comment: fc.constantFrom('kept alive', 'Grüße: a  b = "c"', '0'),
    },
    { requiredKeys: ['state'] },
  );
  const desired = fc.oneof(
    { weight: 3, arbitrary: managed.map((each) => haFields.parse(each)) },
    { weight: 1, arbitrary: fc.constant(false as const) },
  );
  return fc.option(desired, { nil: undefined, freq: 3 });
}

interface ForeignHaChange {
  readonly path: string;
  readonly options: ReadonlyMap<string, string>;
}

/** For each field one change that differs in that field alone; `options` satisfy the desired values. */
export function foreignHaChanges(
  desired: HaFields | undefined,
  options: ReadonlyMap<string, string> | undefined,
): ForeignHaChange[] {
  if (desired === false) return [{ path: 'ha', options: new Map([['state', 'ignored']]) }];
  return Object.keys(appliedHa(desired)).map((path) => {
    const name = path.slice('ha.'.length);
    return { path, options: new Map([...(options ?? []), [name, other(name, options?.get(name))]]) };
  });
}

function other(name: string, value: string | undefined): string {
  if (name === 'state') return value === 'ignored' ? 'disabled' : 'ignored';
  return name === 'comment' ? `${value} of others` : String(Number(value) + 5);
}
