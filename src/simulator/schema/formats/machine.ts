/**
 * Formats of a VM's devices that are declared by name rather than spelled out at each endpoint.
 * [source QS QemuServer.pm, QemuServer/{Drive,PCI,RNG}.pm]
 */
import { invariant } from '../../../base/errors.ts';
import { API_FACTS } from '../api-facts.generated.ts';
import { splitList } from '../perl-text.ts';
import type { ParamSchema, ParamSchemas, PropertyFormat } from '../types.ts';
import { findParamSchema } from '../types.ts';
import type { Verifier } from './format.ts';

const HOTPLUG_FEATURES = new Set(['network', 'disk', 'cpu', 'memory', 'usb', 'cloudinit']);
const PCI_ID = '(?:[a-f0-9]{4,}:)?[a-f0-9]{2}:[a-f0-9]{2}(?:\\.[a-f0-9])?';

/** The parameters of creating a VM know how many devices of each kind there may be. */
function deviceSchemas(): ParamSchemas {
  const facts = API_FACTS['POST /nodes/{node}/qemu'];
  invariant(facts !== undefined, 'The facts of the API lack the creation of a VM.');
  return facts.params;
}

const isDevice = (kinds: RegExp, name: string) =>
  kinds.test(name) && findParamSchema(deviceSchemas(), name) !== undefined;

const verifyBootDisk: Verifier = (text) =>
  isDevice(/^(ide|scsi|virtio|sata|efidisk|tpmstate)\d+$/, text) ? undefined : `invalid boot disk '${text}'\n`;

const verifyBootDevice: Verifier = (text) =>
  isDevice(/^(ide|scsi|virtio|sata|net|usb|hostpci)\d+$/, text) ? undefined : `invalid boot device '${text}'\n`;

const verifyHotplugFeatures: Verifier = (text) => {
  if (text === '0' || text === '1') return undefined;
  const unknown = splitList(text).find((feature) => !HOTPLUG_FEATURES.has(feature));
  return unknown === undefined ? undefined : `invalid hotplug feature '${unknown}'\n`;
};

export const machineFormats: Readonly<Record<string, Verifier>> = {
  'pve-qm-bootdisk': verifyBootDisk,
  'pve-qm-bootdev': verifyBootDevice,
  'pve-hotplug-features': verifyHotplugFeatures,
};

/** An IDE drive of a stored configuration: like the one for requests, but it cannot import. */
function storedIdeFormat(): PropertyFormat {
  const format = deviceSchemas()['ide[n]']?.format;
  invariant(typeof format === 'object', 'The facts of the API lack the format of an IDE drive.');
  return Object.fromEntries(Object.entries(format).filter(([key]) => key !== 'import-from'));
}

const hexId: ParamSchema = { type: 'string', pattern: '(?^:^0x[0-9a-fA-F]{4}$)', optional: true };
const base64Text: ParamSchema = { type: 'string', pattern: '[A-Za-z0-9+\\/]+={0,2}', optional: true };
const volume: ParamSchema = { type: 'string', format: 'pve-volume-id', optional: true };

export const machineProperties: Readonly<Record<string, PropertyFormat>> = {
  'pve-qm-boot': {
    legacy: { type: 'string', pattern: '[acdn]{1,4}', default: 'cdn', default_key: true, optional: true },
    order: { type: 'string', format: 'pve-qm-bootdev-list', optional: true },
  },
  'pve-qm-cicustom': { meta: volume, network: volume, user: volume, vendor: volume },
  'pve-qm-hostpci': {
    'device-id': hexId,
    driver: { type: 'string', enum: ['vfio', 'keep'], default: 'vfio', optional: true },
    host: { type: 'string', pattern: `(?^:(?^:${PCI_ID})(;(?^:${PCI_ID}))*)`, default_key: true, optional: true },
    'legacy-igd': { type: 'boolean', default: 0, optional: true },
    mapping: { type: 'string', format: 'pve-configid', optional: true },
    mdev: { type: 'string', pattern: '[^/\\.:]+', optional: true },
    pcie: { type: 'boolean', default: 0, optional: true },
    rombar: { type: 'boolean', default: 1, optional: true },
    romfile: { type: 'string', pattern: '[^,;]+', optional: true },
    'sub-device-id': hexId,
    'sub-vendor-id': hexId,
    'vendor-id': hexId,
    'x-vga': { type: 'boolean', default: 0, optional: true },
  },
  'pve-qm-ide': storedIdeFormat(),
  'pve-qm-rng': {
    max_bytes: { type: 'integer', default: 1024, optional: true },
    period: { type: 'integer', default: 1000, optional: true },
    source: { type: 'string', enum: ['/dev/urandom', '/dev/random', '/dev/hwrng'], default_key: true },
  },
  'pve-qm-smbios1': {
    base64: { type: 'boolean', optional: true },
    family: base64Text,
    manufacturer: base64Text,
    product: base64Text,
    serial: base64Text,
    sku: base64Text,
    uuid: {
      type: 'string',
      pattern: '[a-fA-F0-9]{8}(?:-[a-fA-F0-9]{4}){3}-[a-fA-F0-9]{12}',
      optional: true,
    },
    version: base64Text,
  },
  'pve-qm-watchdog': {
    action: { type: 'string', enum: ['reset', 'shutdown', 'poweroff', 'pause', 'debug', 'none'], optional: true },
    model: { type: 'string', enum: ['i6300esb', 'ib700'], default: 'i6300esb', default_key: true, optional: true },
  },
};
