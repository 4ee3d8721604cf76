/**
 * What the API of older releases did not have yet, or had in another form, release by release and newest first. The
 * facts about the newest release are generated; these changes lead back from them. Each entry applies to all servers
 * before `before`. Read in the API description that comes with each release [source pve-docs: api-viewer/apidata.js,
 * tag DO]. Endpoints and parameters that answer 501 here in any case are left out, and so are texts for people.
 */
import type { ReleaseNumber } from '../../base/values/release.ts';
import type { ParamSchema, ParamSchemas, Permissions } from './types.ts';

export interface ApiChange {
  readonly before: ReleaseNumber;
  /** `POST /pools`; `*` at the end stands for anything. */
  readonly endpoints: readonly string[];
  /** The path or the method did not exist. */
  readonly absent?: true;
  readonly permissions?: Permissions;
  /** Parameters that did not exist. */
  readonly without?: readonly string[];
  /** Parameters that existed, or had this form. */
  readonly params?: ParamSchemas;
  /** Parts of property strings, by parameter: those that did not exist, and those that existed or had this form. */
  readonly parts?: Readonly<Record<string, { readonly without?: readonly string[]; readonly params?: ParamSchemas }>>;
}

const VM_CONFIG = [
  'POST /nodes/{node}/qemu',
  'POST /nodes/{node}/qemu/{vmid}/config',
  'PUT /nodes/{node}/qemu/{vmid}/config',
];
const VM_START = 'POST /nodes/{node}/qemu/{vmid}/status/start';
const AGENT = '/nodes/{node}/qemu/{vmid}/agent';
const optionalFlag: ParamSchema = { type: 'boolean', optional: true };
const optionalText: ParamSchema = { type: 'string', optional: true };

const monitor: Permissions = { check: ['perm', '/vms/{vmid}', ['VM.Monitor']] };

/** Rule [source DO api-viewer/apidata.js of 9.0 and 8.4]: heads and cylinders of a disk. */
const geometry: ParamSchemas = {
  cyls: { type: 'integer', optional: true },
  heads: { type: 'integer', optional: true },
  secs: { type: 'integer', optional: true },
  trans: { type: 'string', enum: ['none', 'lba', 'auto'], optional: true },
};

const oldFormats: ParamSchemas = {
  format: { type: 'string', enum: ['raw', 'cow', 'qcow', 'qed', 'qcow2', 'vmdk', 'cloop'], optional: true },
};

const LATE_STORAGE_TYPES = ['iscsi', 'iscsidirect', 'lvm', 'lvmthin', 'nfs', 'pbs', 'rbd', 'zfs', 'zfspool'];
const storageTypes = (...others: string[]): ParamSchema => ({
  type: 'string',
  enum: ['btrfs', 'cephfs', 'cifs', 'dir', ...others, ...LATE_STORAGE_TYPES],
});

/** Rule [source DO api-viewer/apidata.js of 9.1]: before 9.2. */
const BEFORE_9_2: readonly ApiChange[] = [
  { before: '9.2', endpoints: ['POST /cluster/ha/status/arm-ha', 'POST /cluster/ha/status/disarm-ha'], absent: true },
  { before: '9.2', endpoints: ['GET /nodes/{node}/storage/{storage}/identity'], absent: true },
  { before: '9.2', endpoints: ['PUT /access/users/{userid}/token/{tokenid}'], without: ['regenerate'] },
  { before: '9.2', endpoints: ['PUT /cluster/options'], without: ['location'] },
  { before: '9.2', endpoints: [`GET ${AGENT}/file-read`], without: ['count', 'decode', 'offset'] },
  {
    before: '9.2',
    endpoints: VM_CONFIG,
    parts: {
      agent: {
        without: ['freeze-fs', 'guest-fsfreeze'],
        params: { 'freeze-fs-on-backup': { type: 'boolean', default: 1, optional: true } },
      },
      efidisk0: { params: { 'ms-cert': { type: 'string', enum: ['2011', '2023'], default: '2011', optional: true } } },
    },
  },
];

/** Rule [source DO api-viewer/apidata.js of 9.0]: before 9.1. */
const BEFORE_9_1: readonly ApiChange[] = [
  {
    before: '9.1',
    endpoints: [
      '* /cluster/bulk-action*',
      'GET /nodes/{node}/capabilities/qemu/cpu-flags',
      'GET /nodes/{node}/query-oci-repo-tags',
      'GET /nodes/{node}/sdn/zones/{zone}/bridges',
      'POST /access/vncticket',
      'POST /nodes/{node}/storage/{storage}/oci-registry-pull',
    ],
    absent: true,
  },
  { before: '9.1', endpoints: ['DELETE /cluster/ha/resources/{sid}'], without: ['purge'] },
  { before: '9.1', endpoints: ['POST /nodes/{node}/qemu'], without: ['ha-managed'] },
  {
    before: '9.1',
    endpoints: VM_CONFIG,
    without: ['allow-ksm', 'intel-tdx'],
    parts: {
      efidisk0: { without: ['ms-cert'] },
      machine: { without: ['aw-bits'] },
      tpmstate0: { without: ['format'] },
    },
  },
  { before: '9.1', endpoints: [VM_START], without: ['nets-host-mtu'], parts: { machine: { without: ['aw-bits'] } } },
  { before: '9.1', endpoints: ['POST /storage', 'PUT /storage/{storage}'], without: ['saferemove-stepsize'] },
  { before: '9.1', endpoints: ['PUT /access/users/{userid}/token/{tokenid}'], without: ['delete'] },
];

/** Rule [source DO api-viewer/apidata.js of 8.4]: before 9.0. */
const BEFORE_9_0: readonly ApiChange[] = [
  { before: '9.0', endpoints: ['* /cluster/ha/rules*', 'GET /nodes/{node}/capabilities/qemu/migration'], absent: true },
  { before: '9.0', endpoints: ['POST /nodes/{node}/qemu/{vmid}/dbus-vmstate'], absent: true },
  {
    before: '9.0',
    endpoints: ['POST /cluster/ha/resources', 'PUT /cluster/ha/resources/{sid}'],
    without: ['failback'],
  },
  // Rule [source QS API2/Qemu/Agent.pm register_command of 8.3.12]: one privilege for every word with the guest agent.
  { before: '9.0', endpoints: [`GET ${AGENT}/*`, `POST ${AGENT}*`], permissions: monitor },
  { before: '9.0', endpoints: ['POST /nodes/{node}/qemu/{vmid}/monitor'], permissions: monitor },
  {
    before: '9.0',
    endpoints: VM_CONFIG,
    parts: {
      'ide[n]': { params: geometry },
      'sata[n]': { params: geometry },
      'scsi[n]': { params: geometry },
      'virtio[n]': { params: geometry },
    },
  },
  {
    before: '9.0',
    endpoints: ['POST /nodes/{node}/qemu/{vmid}/migrate', VM_START],
    without: ['with-conntrack-state'],
  },
  {
    before: '9.0',
    endpoints: ['POST /storage', 'PUT /storage/{storage}'],
    without: ['snapshot-as-volume-chain', 'zfs-base-path'],
    params: { server2: optionalText, transport: { type: 'string', enum: ['tcp', 'rdma', 'unix'], optional: true } },
  },
  {
    before: '9.0',
    endpoints: ['POST /storage'],
    params: { type: storageTypes('esxi', 'glusterfs'), volume: optionalText },
  },
  {
    before: '9.0',
    endpoints: ['GET /storage'],
    params: { type: { ...storageTypes('esxi', 'glusterfs'), optional: true } },
  },
  { before: '9.0', endpoints: ['PUT /cluster/options'], without: ['replication'] },
];

/** Rule [source DO api-viewer/apidata.js of 8.3]: before 8.4. */
const BEFORE_8_4: readonly ApiChange[] = [
  { before: '8.4', endpoints: ['* /cluster/mapping/dir*'], absent: true },
  {
    before: '8.4',
    endpoints: ['POST /cluster/mapping/pci', 'PUT /cluster/mapping/pci/{id}'],
    without: ['live-migration-capable'],
  },
  {
    before: '8.4',
    endpoints: VM_CONFIG,
    without: ['virtiofs[n]'],
    parts: {
      efidisk0: { params: oldFormats },
      'ide[n]': { params: oldFormats },
      'sata[n]': { params: oldFormats },
      'scsi[n]': { params: oldFormats },
      'virtio[n]': { params: oldFormats },
      machine: { without: ['enable-s3', 'enable-s4'] },
    },
  },
  { before: '8.4', endpoints: [VM_START], parts: { machine: { without: ['enable-s3', 'enable-s4'] } } },
  {
    before: '8.4',
    endpoints: ['POST /nodes/{node}/storage/{storage}/content'],
    params: { format: { type: 'string', enum: ['raw', 'qcow2', 'subvol'], requires: 'size', optional: true } },
  },
  { before: '8.4', endpoints: ['PUT /cluster/options'], without: ['consent-text'] },
];

const transferred: ParamSchema = { type: 'string', enum: ['iso', 'vztmpl'] };

/** Rule [source DO api-viewer/apidata.js of 8.2]: before 8.3. */
const BEFORE_8_3: readonly ApiChange[] = [
  { before: '8.3', endpoints: ['GET /nodes/{node}/hardware/pci/{pci-id-or-mapping}*'], absent: true },
  { before: '8.3', endpoints: VM_CONFIG, without: ['amd-sev'] },
  {
    before: '8.3',
    endpoints: ['POST /nodes/{node}/qemu', 'POST /nodes/{node}/qemu/{vmid}/config'],
    without: ['import-working-storage'],
  },
  {
    before: '8.3',
    endpoints: ['POST /nodes/{node}/storage/{storage}/download-url', 'POST /nodes/{node}/storage/{storage}/upload'],
    params: { content: transferred },
  },
];

/** Rule [source DO api-viewer/apidata.js of 8.1]: before 8.2. */
const BEFORE_8_2: readonly ApiChange[] = [
  {
    before: '8.2',
    endpoints: ['GET /nodes/{node}/query-url-metadata'],
    permissions: { check: ['perm', '/', ['Sys.Audit', 'Sys.Modify']] },
  },
  {
    before: '8.2',
    endpoints: ['POST /nodes/{node}/storage/{storage}/download-url'],
    permissions: {
      check: [
        'and',
        ['perm', '/storage/{storage}', ['Datastore.AllocateTemplate']],
        ['perm', '/', ['Sys.Audit', 'Sys.Modify']],
      ],
    },
  },
  { before: '8.2', endpoints: ['GET /nodes/{node}/storage/{storage}/import-metadata'], absent: true },
  {
    before: '8.2',
    endpoints: VM_CONFIG,
    // Only the name of a machine, without options.
    parts: { machine: { without: ['viommu'] }, 'scsi[n]': { without: ['product', 'vendor'] } },
  },
  { before: '8.2', endpoints: [VM_START], parts: { machine: { without: ['viommu'] } } },
  { before: '8.2', endpoints: ['POST /nodes/{node}/qemu/{vmid}/status/stop'], without: ['overrule-shutdown'] },
  { before: '8.2', endpoints: ['PUT /access/password'], without: ['confirmation-password'] },
  { before: '8.2', endpoints: ['POST /storage', 'PUT /storage/{storage}'], without: ['skip-cert-verification'] },
  { before: '8.2', endpoints: ['POST /storage'], params: { type: storageTypes('glusterfs') } },
  { before: '8.2', endpoints: ['GET /storage'], params: { type: { ...storageTypes('glusterfs'), optional: true } } },
];

/** Rule [source DO api-viewer/apidata.js of 8.0]: before 8.1. */
const BEFORE_8_1: readonly ApiChange[] = [
  { before: '8.1', endpoints: ['DELETE /pools', 'PUT /pools', 'POST /nodes/{node}/suspendall'], absent: true },
  { before: '8.1', endpoints: ['GET /pools'], without: ['poolid', 'type'] },
  { before: '8.1', endpoints: ['PUT /pools/{poolid}'], without: ['allow-move'], params: { delete: optionalFlag } },
  { before: '8.1', endpoints: ['POST /nodes/{node}/storage/{storage}/download-url'], without: ['compression'] },
  {
    before: '8.1',
    endpoints: VM_CONFIG,
    params: { memory: { type: 'integer', default: 512, minimum: 16, optional: true } },
    parts: { vga: { without: ['clipboard'] } },
  },
];

export const API_CHANGES: readonly ApiChange[] = [
  ...BEFORE_9_2,
  ...BEFORE_9_1,
  ...BEFORE_9_0,
  ...BEFORE_8_4,
  ...BEFORE_8_3,
  ...BEFORE_8_2,
  ...BEFORE_8_1,
];
