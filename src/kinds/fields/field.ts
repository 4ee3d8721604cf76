/**
 * A row of a field table: what Proxwright knows about a field besides its type. The row sits on the zod schema, so one line
 * drives the TypeScript type, validation, JSON Schema, the Terraform schema, the reference page, the binding to Proxmox's
 * configuration, the moment a change takes effect, the drives that have the field, and secrecy.
 */
import { z } from 'zod';
import { invariant } from '../../base/errors.ts';
import { once } from '../../base/values/once.ts';
import type { ReleaseNumber } from '../../base/values/release.ts';
import { parseByteSize, parseDuration } from '../../base/values/units.ts';
import type { WordKind } from './words.ts';

/** When a change of the field takes effect in a running VM. */
export type Effect =
  /** Immediately. */
  | 'live'
  /** After a stop and start. */
  | 'restart'
  /** Only when the resource is created: a later change is refused or needs a replacement. */
  | 'creation'
  /** Nothing on the server changes. */
  | 'none'
  /** Immediately under a condition, otherwise after a restart. */
  | ConditionalEffect;

export interface ConditionalEffect {
  /** The condition, for people; completes "immediately if …". */
  readonly when: string;
  isLive(change: FieldChange): boolean;
}

/** A change of one field in a running VM. */
export interface FieldChange {
  /** Proxmox's key with its slot: `net0`. */
  readonly key: string;
  /** The field's text on the wire, that of its sub-key if it has one. Undefined if it is absent. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** What the VM's `hotplug` key allows. */
  readonly features: ReadonlySet<string>;
  /** The configuration in effect. */
  readonly current: ReadonlyMap<string, string>;
}

export type DriveBus = 'ide' | 'sata' | 'scsi' | 'virtio';

export interface FieldFacts {
  /** A sentence for the reference page and the editor. */
  readonly description: string;
  /**
   * Where Proxmox keeps the value: a key, or a key and a sub-key of its property string. A key with slots is named without
   * its number (`net`, or `numa[n]` where `numa` is a key as well); `drive` stands for a slot on any bus.
   */
  readonly wire?: readonly [key: string, part?: string];
  /** How the value is written there; by the type of the field unless it says otherwise. */
  readonly words?: WordKind;
  /** Sub-keys that Proxmox does not allow together with this one. */
  readonly excludes?: readonly string[];
  readonly effect: Effect;
  /** A CD drive does not have the option; without this, both kinds of drives have it. */
  readonly on?: 'disk';
  /** The buses that have the option; all by default. */
  readonly buses?: readonly DriveBus[];
  /** The first release of Proxmox VE that has it; every supported one by default. A plan for an older one is refused. */
  readonly since?: ReleaseNumber;
  /** Values that came later than the field, each with its first release. */
  readonly valuesSince?: Readonly<Record<string, ReleaseNumber>>;
  /** Proxmox lets only root@pam, logged in with a password, set it. A test compares this with the privileges of its key. */
  readonly rootOnly?: true;
  /** The value, or what it refers to, never appears in plans, states, journals and logs. */
  readonly secret?: true;
  readonly examples?: readonly unknown[];
  /** Proxmox's default, in the syntax of the file. */
  readonly serverDefault?: string;
  /** A list whose order does not matter. */
  readonly unordered?: true;
}

// zod's registry rewrites the type of its values, which functions do not survive; only `field` adds to it.
const registry = z.registry<object>();

export const fieldFacts = {
  get: (schema: z.core.$ZodType): FieldFacts | undefined => registry.get(schema) as FieldFacts | undefined,
};

/** One row of a field table. */
export function field<Schema extends z.ZodType>(schema: Schema, facts: FieldFacts): Schema {
  invariant(!registry.has(schema), `Two fields share one schema, the second is: ${facts.description}`);
  registry.add(schema, facts);
  return schema;
}

const NO_OTHERS = z.never();

/**
 * A block of fields that allows no others. Its rows are made when they are first needed: a command meets few of the blocks,
 * and making the rows of all of them takes as long as everything else that a short command does.
 */
export function block<Rows extends z.core.$ZodLooseShape>(rows: () => Rows): ReturnType<typeof z.strictObject<Rows>> {
  const shape = once(rows);
  // zod keeps a getter as it is, also in copies.
  const definition: z.core.$ZodObjectDef<Rows> = {
    type: 'object',
    get shape() {
      return shape();
    },
    catchall: NO_OTHERS,
  };
  // The constructor knows shapes only by their base type.
  return new z.ZodObject(definition) as unknown as ReturnType<typeof z.strictObject<Rows>>;
}

/** A text that fits into a property string, whose grammar has no quoting. */
export function word(): z.ZodType<string, string> {
  return z.string().regex(/^[^\s,;=]+$/, 'blanks, commas, semicolons and equals signs are not allowed here');
}

/** Text that Proxmox keeps on one line of its file. */
export function singleLine(): z.ZodString {
  return z.string().regex(/^[^\r\n]*$/, 'it must be a single line');
}

/** The name of a volume: `local:iso/debian.iso`. */
export function volumeName(): z.ZodType<string, string> {
  return z.string().regex(/^[^\s:,]+:[^\s,]+$/, 'a volume is written storage:name, for example local:iso/debian.iso');
}

/** A whole number. Its limits are checks of one schema: chained, each of them would be a schema more at every start. */
export function whole(least: number, most?: number): z.ZodInt {
  return z.int().check(z.gte(least), ...(most === undefined ? [] : [z.lte(most)]));
}

// Most tables have several sizes and durations, and every start makes their schemas.
const textOrNumber = once(() => z.union([z.string(), z.number()]));

/** Text with a unit → bytes. */
export function byteSize(): z.ZodType<number, string | number> {
  return z.pipe(textOrNumber(), bytesOf());
}

const bytesOf = once(() =>
  z.transform((value: string | number, context) => {
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
  }),
);

/** Text with a unit → milliseconds. */
export function duration(): z.ZodType<number, string | number> {
  return z.pipe(textOrNumber(), millisecondsOf());
}

const millisecondsOf = once(() =>
  z.transform((value: string | number, context) => {
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
  }),
);
