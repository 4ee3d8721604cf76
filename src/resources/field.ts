/**
 * What the domain knows of a field beyond its type: its words for people, its place in Proxmox, whether it is secret and
 * how a change takes effect. It sits on the zod schema, so the TypeScript type, validation, JSON Schema, the Terraform
 * schema and the reference page all come from one line.
 */
import { z } from 'zod';
import { parseByteSize, parseDuration } from '../base/units.ts';

/** When a change of the field is felt by a running VM. */
export type Effect =
  /** At once. */
  | 'live'
  /** At once if the VM's `hotplug` names the feature, else after a restart. */
  | 'hotplug-network'
  | 'hotplug-disk'
  | 'hotplug-usb'
  | 'hotplug-cpu'
  | 'hotplug-memory'
  /** After a stop and start. */
  | 'restart'
  /** Only while the VM is made; a later change is refused or needs a replacement. */
  | 'creation'
  /** Ours alone: nothing on the server changes. */
  | 'none';

export interface FieldFacts {
  /** A sentence for the reference page and the editor. */
  readonly description: string;
  /** Proxmox's key, with the sub-key behind a dot: `cores`, `net.tag`. */
  readonly pve?: string;
  readonly effect: Effect;
  readonly secret?: true;
  readonly examples?: readonly unknown[];
  /** What Proxmox assumes where nobody sets it. */
  readonly serverDefault?: string;
  /** Of a list: its order means nothing. */
  readonly unordered?: true;
}

export const fieldFacts = z.registry<FieldFacts>();

/** One line of a field table. */
export function field<Schema extends z.ZodType>(schema: Schema, facts: FieldFacts): Schema {
  fieldFacts.add(schema, facts);
  return schema;
}

/** A text that may stand inside a property string, whose grammar has no quoting. */
export function word(): z.ZodType<string, string> {
  return z.string().regex(/^[^\s,;=]+$/, 'blanks, commas, semicolons and equals signs are not allowed here');
}

/** The name of a volume: `local:iso/debian.iso`. */
export function volumeName(): z.ZodType<string, string> {
  return z.string().regex(/^[^\s:,]+:[^\s,]+$/, 'a volume is written storage:name, for example local:iso/debian.iso');
}

/** Text with a unit → bytes. */
export function byteSize(): z.ZodType<number, string | number> {
  return z.union([z.string(), z.number()]).transform((value, context) => {
    const bytes = typeof value === 'string' ? parseByteSize(value) : undefined;
    if (bytes !== undefined) return bytes;
    context.addIssue({
      code: 'custom',
      message:
        typeof value === 'number'
          ? `a size needs a unit; write ${value}MiB or ${value}GiB`
          : `"${value}" is not a size; write for example 8GiB or 512MiB`,
    });
    return z.NEVER;
  });
}

/** Text with a unit → milliseconds. */
export function duration(): z.ZodType<number, string | number> {
  return z.union([z.string(), z.number()]).transform((value, context) => {
    const ms = typeof value === 'string' ? parseDuration(value) : undefined;
    if (ms !== undefined) return ms;
    context.addIssue({
      code: 'custom',
      message:
        typeof value === 'number'
          ? `a duration needs a unit; write ${value}s or ${value}m`
          : `"${value}" is not a duration; write for example 30s, 5m or 1h30m`,
    });
    return z.NEVER;
  });
}
