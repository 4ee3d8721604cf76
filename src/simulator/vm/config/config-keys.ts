/**
 * What kind of value each configuration key holds, and the type check Proxmox applies whenever it reads or writes the
 * file. The parameter facts of the update endpoint are the source; a few keys exist only in the file.
 */
import { dieFault } from '../../http/response.ts';
import { API_FACTS } from '../../schema/api-facts.generated.ts';
import { checkFormat } from '../../schema/check.ts';
import type { ParamSchema } from '../../schema/types.ts';

const FACTS = API_FACTS['PUT /nodes/{node}/qemu/{vmid}/config']?.params ?? {};

/** Parameters of the update call that are not configuration keys. */
const NOT_KEYS = new Set([
  'node',
  'vmid',
  'delete',
  'revert',
  'force',
  'digest',
  'skiplock',
  'background_delay',
  'import-working-storage',
]);

/** Rule [source QS QemuServer.pm json_config_properties]: in the file, but accepted by no call. */
const FILE_ONLY: Readonly<Record<string, ParamSchema>> = {
  meta: { type: 'string' },
  parent: { type: 'string' },
  snaptime: { type: 'integer' },
  vmstate: { type: 'string' },
  snapstate: { type: 'string' },
  runningmachine: { type: 'string' },
  runningcpu: { type: 'string' },
  'running-nets-host-mtu': { type: 'string' },
};

const DRIVE_KEY = /^(ide[0-3]|sata[0-5]|scsi([0-9]|[12][0-9]|30)|virtio([0-9]|1[0-5])|efidisk0|tpmstate0)$/;

/** Rule [source QS QemuServer/Drive.pm valid_drive_names]: this order decides the default boot disk. */
export const BOOT_DRIVE_KEYS: readonly string[] = [
  ...numbered('ide', 4),
  ...numbered('scsi', 31),
  ...numbered('virtio', 16),
  ...numbered('sata', 6),
];

export const CLOUD_INIT_KEY =
  /^(cicustom|cipassword|citype|ciupgrade|ciuser|nameserver|searchdomain|sshkeys|ipconfig\d+)$/;

export function isDriveKey(key: string): boolean {
  return DRIVE_KEY.test(key);
}

export function isUnusedKey(key: string): boolean {
  return /^unused\d+$/.test(key);
}

export function isNetKey(key: string): boolean {
  return /^net\d+$/.test(key);
}

/** Whether Proxmox knows the key at all (`option_exists`), as `delete` and `revert` ask. */
export function isConfigKey(key: string): boolean {
  return schemaOf(key) !== undefined;
}

/** Rule [recorded create-full]: integers and booleans are JSON numbers, everything else is text, `memory` included. */
export function wireValue(key: string, text: string): string | number {
  const type = schemaOf(key)?.type;
  return type === 'integer' || type === 'boolean' ? Number(text) : text;
}

/** The value that a reader of the file gets; undefined if the type check drops the line with a warning. */
export function readableValue(key: string, value: string): string | undefined {
  const checked = checkType(key, value);
  return checked.ok ? checked.value : undefined;
}

/** The same check at writing, where it is fatal. */
export function writableValue(key: string, value: string): string {
  if (key === 'description') return value;
  const checked = checkType(key, value);
  if (!checked.ok) throw dieFault(`unable to parse value of '${key}' - ${checked.problem}`);
  return checked.value;
}

type Checked = { readonly ok: true; readonly value: string } | { readonly ok: false; readonly problem: string };

/** Rule [source QS QemuServer.pm check_type]. */
function checkType(key: string, value: string): Checked {
  const schema = schemaOf(key);
  if (!schema) return { ok: false, problem: `unknown setting '${key}'` };
  if (/[\n\r]/.test(value)) return { ok: false, problem: 'property contains a line feed' };
  switch (schema.type) {
    case 'boolean':
      if (/^(1|on|yes|true)$/i.test(value)) return { ok: true, value: '1' };
      if (/^(0|off|no|false)$/i.test(value)) return { ok: true, value: '0' };
      return { ok: false, problem: `type check ('boolean') failed - got '${value}'` };
    case 'integer':
      if (/^\d+$/.test(value)) return { ok: true, value: String(Number(value)) };
      return { ok: false, problem: `type check ('integer') failed - got '${value}'` };
    case 'number':
      if (/^\d+(\.\d+)?$/.test(value)) return { ok: true, value };
      return { ok: false, problem: `type check ('number') failed - got '${value}'` };
    default: {
      if (schema.format === undefined) return { ok: true, value: value.replace(/^"(.*)"$/, '$1') };
      // Without a path: problems name the sub-key alone.
      const problem = checkFormat(schema.format, value, '', {});
      return problem === undefined ? { ok: true, value } : { ok: false, problem: problem.trimEnd() };
    }
  }
}

function schemaOf(key: string): ParamSchema | undefined {
  if (NOT_KEYS.has(key)) return undefined;
  const fileOnly = FILE_ONLY[key];
  if (fileOnly) return fileOnly;
  const exact = Object.hasOwn(FACTS, key) ? FACTS[key] : undefined;
  if (exact) return exact;
  const match = /^([a-z_-]+?)(\d+)$/.exec(key);
  const family = match && FACTS[`${match[1]}[n]`];
  return family && Number(match[2]) < (family.count ?? 0) ? family : undefined;
}

function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}
