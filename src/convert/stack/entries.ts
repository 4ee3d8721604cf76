/** Maps attributes of our Terraform resources to fields of a stack file. */
import { isObject } from './evaluate.ts';
import type { Value } from './value.ts';

export type Section = 'vms' | 'images';
type Values = Readonly<Record<string, Value>>;

export interface EntryContext {
  /** A file that the conversion wrote. */
  fileText(path: string): string | undefined;
  left(what: string, why: string): void;
}

/** Only Terraform has these. */
const TERRAFORM_ONLY = new Set(['timeouts', 'update_group', 'max_unavailable', 'triggers', 'lifecycle']);

export function vmEntry(attributes: Values, known: Values, context: EntryContext): Values {
  const entry: Record<string, Value> = {};
  const vmid = attributes.vmid ?? vmidIn(known);
  for (const [name, value] of Object.entries(attributes)) {
    if (TERRAFORM_ONLY.has(name)) context.left(name, 'A stack has it in `rollout`, for all VMs.');
    else if (name === 'stop_on_destroy') context.left(name, 'Say it when you destroy: `proxwright destroy --stop`.');
    else entry[name] = inStack([name], value, context);
  }
  return { ...entry, ...(vmid !== undefined && { vmid }) };
}

export function imageEntry(attributes: Values, _known: Values, context: EntryContext): Values {
  const { node, timeouts, ...rest } = attributes;
  if (timeouts !== undefined) context.left('timeouts', 'A stack has it in `rollout.timeouts.image`.');
  return { ...(node !== undefined && { nodes: [node] }), ...rest };
}

/** Words that HCL uses where YAML has a value of another type. */
function inStack(path: readonly string[], value: Value, context: EntryContext): Value {
  const name = path.at(-1) ?? '';
  const whole = path.join('.').replace(/\.(?:net|scsi|ide|sata|virtio)\d+\./, '.*.');
  if (value === 'none' && ['balloon', 'disks.*.iso', 'vga.clipboard', 'machine_options.viommu'].includes(whole))
    return false;
  if (whole === 'nics.*.vlan' && value === 0) return false;
  if (isObject(value)) {
    if ((name === 'ipv4' || name === 'ipv6') && (value.address === 'dhcp' || value.address === 'auto'))
      return value.address;
    if (name === 'user_data' || name === 'network_data' || name === 'meta_data') return documentOf(value, context);
    const entries = Object.entries(value).filter(([, each]) => each !== null);
    return Object.fromEntries(
      entries.flatMap(([key, each]) => {
        if (key === 'password_wo') {
          context.left('cloud_init.password_wo', 'A stack names where the password is: `password: { env: NAME }`.');
          return [];
        }
        const image = key === 'import_from' || key === 'iso' ? /^image:(.+)$/.exec(String(each))?.[1] : undefined;
        return [image === undefined ? [key, inStack([...path, key], each, context)] : ['image', image]];
      }),
    );
  }
  return value;
}

function documentOf(value: Values, context: EntryContext): Value {
  const text = typeof value.file === 'string' ? context.fileText(value.file) : undefined;
  return text === undefined ? value : { text };
}

/** In the state of any of the providers. */
export function vmidIn(known: Values | undefined): number | undefined {
  return lastNumber(known?.vm_id ?? known?.vmid ?? known?.id);
}

function lastNumber(value: Value | undefined): number | undefined {
  const digits = /[1-9]\d*$/.exec(String(value ?? ''))?.[0];
  return digits === undefined ? undefined : Number(digits);
}
