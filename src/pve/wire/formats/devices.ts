/**
 * Formats of the other devices of a guest. Mirrors qemu-server, src/PVE/QemuServer.pm and
 * src/PVE/QemuServer/{PCI,USB,RNG,Virtiofs}.pm.
 */
import { defineFormat, type SubKey } from '../property-string.ts';

const off: SubKey = { type: 'boolean', default: '0' };
const hexId: SubKey = { type: 'string', caseFold: true };

export const HOSTPCI_FORMAT = defineFormat(
  'hostpci',
  {
    // Ordered: the first device becomes function 0 in the guest.
    host: { type: 'list', caseFold: true, ordered: true },
    mapping: { type: 'string' },
    'device-id': hexId,
    driver: { type: 'string', enum: ['vfio', 'keep'], default: 'vfio' },
    'legacy-igd': off,
    mdev: { type: 'string' },
    pcie: off,
    rombar: { type: 'boolean', default: '1' },
    romfile: { type: 'string' },
    'sub-device-id': hexId,
    'sub-vendor-id': hexId,
    'vendor-id': hexId,
    'x-vga': off,
  },
  { defaultKey: 'host' },
);

export const USB_FORMAT = defineFormat(
  'usb',
  { host: { type: 'string', caseFold: true }, mapping: { type: 'string' }, usb3: off },
  { defaultKey: 'host' },
);

export const VGA_FORMAT = defineFormat(
  'vga',
  {
    type: {
      type: 'string',
      enum: [
        'cirrus',
        'qxl',
        'qxl2',
        'qxl3',
        'qxl4',
        'none',
        'serial0',
        'serial1',
        'serial2',
        'serial3',
        'std',
        'virtio',
        'virtio-gl',
        'vmware',
      ],
      default: 'std',
    },
    clipboard: { type: 'string', enum: ['vnc'] },
    memory: { type: 'integer' },
  },
  { defaultKey: 'type' },
);

export const RNG_FORMAT = defineFormat(
  'rng',
  {
    source: { type: 'string', required: true, enum: ['/dev/urandom', '/dev/random', '/dev/hwrng'] },
    max_bytes: { type: 'integer', default: '1024' },
    period: { type: 'integer', default: '1000' },
  },
  { defaultKey: 'source' },
);

export const WATCHDOG_FORMAT = defineFormat(
  'watchdog',
  {
    model: { type: 'string', enum: ['i6300esb', 'ib700'], default: 'i6300esb' },
    action: { type: 'string', enum: ['reset', 'shutdown', 'poweroff', 'pause', 'debug', 'none'] },
  },
  { defaultKey: 'model' },
);

export const AUDIO_FORMAT = defineFormat('audio', {
  device: { type: 'string', required: true, enum: ['ich9-intel-hda', 'intel-hda', 'AC97'] },
  driver: { type: 'string', enum: ['spice', 'none'], default: 'spice' },
});

export const VIRTIOFS_FORMAT = defineFormat(
  'virtiofs',
  {
    dirid: { type: 'string', required: true },
    cache: { type: 'string', enum: ['auto', 'always', 'metadata', 'never'], default: 'auto' },
    'direct-io': off,
    'expose-acl': off,
    'expose-xattr': off,
  },
  { defaultKey: 'dirid' },
);

export const IVSHMEM_FORMAT = defineFormat('ivshmem', {
  size: { type: 'integer', required: true },
  name: { type: 'string' },
});

export const SPICE_ENHANCEMENTS_FORMAT = defineFormat('spice_enhancements', {
  foldersharing: off,
  videostreaming: { type: 'string', enum: ['off', 'all', 'filter'], default: 'off' },
});
