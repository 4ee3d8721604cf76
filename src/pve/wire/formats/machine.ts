/**
 * Formats of what describes the guest as a whole: processor, memory, firmware, boot, agent. Mirrors qemu-server,
 * src/PVE/QemuServer.pm and src/PVE/QemuServer/{Agent,CPUConfig,Machine,Memory,MetaInfo}.pm; startup: pve-common.
 */
import { defineFormat, type SubKey } from '../property-string.ts';

const off: SubKey = { type: 'boolean', default: '0' };
const on: SubKey = { type: 'boolean', default: '1' };
const text: SubKey = { type: 'string' };

export const AGENT_FORMAT = defineFormat(
  'agent',
  {
    enabled: { type: 'boolean', required: true, default: '0' },
    'freeze-fs': on,
    fstrim_cloned_disks: off,
    type: { type: 'string', enum: ['virtio', 'isa'], default: 'virtio' },
  },
  { defaultKey: 'enabled', aliases: { 'freeze-fs-on-backup': 'freeze-fs', 'guest-fsfreeze': 'freeze-fs' } },
);

export const CPU_FORMAT = defineFormat(
  'cpu',
  {
    cputype: { type: 'string', default: 'kvm64' },
    flags: { type: 'list' },
    'guest-phys-bits': { type: 'integer' },
    hidden: off,
    'hv-vendor-id': text,
    level: { type: 'integer' },
    'phys-bits': text,
    // Meaningful in custom models only, yet part of the grammar.
    'reported-model': text,
  },
  { defaultKey: 'cputype' },
);

export const MEMORY_FORMAT = defineFormat(
  'memory',
  { current: { type: 'integer', required: true, default: '512' } },
  { defaultKey: 'current' },
);

export const NUMA_FORMAT = defineFormat('numa', {
  cpus: { type: 'list', required: true },
  hostnodes: { type: 'list' },
  memory: { type: 'number' },
  policy: { type: 'string', enum: ['preferred', 'bind', 'interleave'] },
});

export const BOOT_FORMAT = defineFormat(
  'boot',
  { legacy: text, order: { type: 'list', ordered: true } },
  { defaultKey: 'legacy' },
);

export const MACHINE_FORMAT = defineFormat(
  'machine',
  {
    type: text,
    'aw-bits': { type: 'number' },
    'enable-s3': { type: 'boolean' },
    'enable-s4': { type: 'boolean' },
    viommu: { type: 'string', enum: ['intel', 'virtio'] },
  },
  { defaultKey: 'type' },
);

export const SMBIOS1_FORMAT = defineFormat('smbios1', {
  base64: off,
  family: text,
  manufacturer: text,
  product: text,
  serial: text,
  sku: text,
  uuid: { type: 'string', caseFold: true },
  version: text,
});

/** The server parses this one with code of its own; the grammar is the same, with `order` as its default key. */
export const STARTUP_FORMAT = defineFormat(
  'startup',
  { order: { type: 'integer' }, up: { type: 'integer' }, down: { type: 'integer' } },
  { defaultKey: 'order' },
);

export const CICUSTOM_FORMAT = defineFormat('cicustom', { meta: text, network: text, user: text, vendor: text });

export const AMD_SEV_FORMAT = defineFormat(
  'amd-sev',
  {
    type: { type: 'string', required: true, enum: ['std', 'es', 'snp'] },
    'allow-smt': on,
    'kernel-hashes': off,
    'no-debug': off,
    'no-key-sharing': off,
  },
  { defaultKey: 'type' },
);

export const INTEL_TDX_FORMAT = defineFormat(
  'intel-tdx',
  {
    type: { type: 'string', required: true, enum: ['tdx'] },
    attestation: { type: 'boolean', required: true, default: '1' },
    'vsock-cid': { type: 'integer', default: '2' },
    'vsock-port': { type: 'integer', default: '4050' },
  },
  { defaultKey: 'type' },
);

export const META_FORMAT = defineFormat('meta', { 'creation-qemu': text, ctime: { type: 'integer' } });
