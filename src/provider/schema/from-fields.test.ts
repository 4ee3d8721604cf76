import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { byteSize, duration, field } from '../../kinds/fields/field.ts';
import { fieldRows } from '../../kinds/fields/field-table.ts';
import { vmFieldsSchema } from '../../kinds/vm/fields/index.ts';
import { vmFieldAttributes } from '../kinds/vm/shape.ts';
import { attributesOfFields, withNested } from './from-fields.ts';
import { type Attribute, type Attributes, objectType } from './model.ts';

const attributes = vmFieldAttributes();

function attributeAt(path: string, all: Attributes = attributes): Attribute | undefined {
  const [first = '', ...rest] = path.split('.').filter((step) => step !== '*');
  const found = all[first];
  if (rest.length === 0 || found === undefined) return found;
  return found.type.kind === 'nested' ? attributeAt(rest.join('.'), found.type.attributes) : undefined;
}

function everyAttribute(all: Attributes, path = ''): [string, Attribute][] {
  return Object.entries(all).flatMap(([name, attribute]): [string, Attribute][] => [
    [`${path}${name}`, attribute],
    ...(attribute.type.kind === 'nested' ? everyAttribute(attribute.type.attributes, `${path}${name}.`) : []),
  ]);
}

const typeAt = (path: string, all?: Attributes) => {
  const type = attributeAt(path, all)?.type;
  return type?.kind === 'value' ? type.type : type?.nesting;
};

describe('the attributes of a VM', () => {
  it('cover every row of the field table', () => {
    // Rolling updates belong to stacks.
    const rows = fieldRows(vmFieldsSchema).filter(({ path }) => !/^(update|snapshot|hooks)(\.|$)/.test(path));
    expect(rows.length).toBeGreaterThan(100);
    expect(rows.filter(({ path }) => attributeAt(path) === undefined).map(({ path }) => path)).toEqual([]);
  });

  it('are all described', () => {
    const silent = everyAttribute(attributes).filter(([, { description }]) => !/^\S.{4,}\.$/.test(description));
    expect(silent.map(([path]) => path)).toEqual([]);
  });

  it('accept a document as a reference or as a text, which is not shown', () => {
    const document = attributeAt('cloud_init.user_data');
    const inner = document?.type.kind === 'nested' ? document.type.attributes : {};
    expect(Object.keys(inner)).toEqual(['env', 'file', 'command', 'text']);
    expect(Object.values(inner).map(({ given }) => given)).toEqual(Array(4).fill('optional-computed'));
    expect(inner.text?.sensitive).toBe(true);
    expect(inner.file?.sensitive).toBeUndefined();
  });

  it('have names that a host accepts', () => {
    const reserved = [
      'count',
      'for_each',
      'depends_on',
      'provider',
      'lifecycle',
      'connection',
      'provisioner',
      'locals',
    ];
    expect(everyAttribute(attributes).filter(([path]) => !/^([a-z][a-z0-9_]*\.?)+$/.test(path))).toEqual([]);
    expect(Object.keys(attributes).filter((name) => reserved.includes(name))).toEqual([]);
  });

  it('are set by the user or the server, except those that every VM requires', () => {
    const required = everyAttribute(attributes).filter(([, { given }]) => given === 'required');
    expect(required.map(([path]) => path)).toEqual([
      'name',
      'node',
      'clone.template',
      'nics.ipv4.address',
      'nics.ipv6.address',
      'efi.storage',
      'tpm.storage',
      'agent.enabled',
      'audio.device',
      'numa_nodes.cpus',
      'numa_nodes.memory',
      'amd_sev.type',
      'intel_tdx.type',
      'virtiofs.mapping',
    ]);
    expect(new Set(everyAttribute(attributes).map(([, { given }]) => given))).toEqual(
      new Set(['required', 'optional-computed']),
    );
  });

  it.each([
    ['memory', 'string'],
    ['balloon', 'string'],
    ['vmid', 'number'],
    ['protection', 'bool'],
    ['tags', ['set', 'string']],
    ['boot', ['list', 'string']],
    ['cpu', 'single'],
    ['cpu.flags', ['list', 'string']],
    ['disks', 'map'],
    ['disks.remove', 'bool'],
    ['disks.iso', 'string'],
    ['nics.vlan', 'number'],
    ['nics.trunks', ['list', 'number']],
    ['nics.ipv4', 'single'],
    ['serial', ['map', 'string']],
    ['extra', ['map', 'string']],
    ['ready.exec', ['list', ['list', 'string']]],
    ['ready.settle', 'string'],
    ['clone.template', 'string'],
    ['cloud_init.password', 'single'],
    ['cloud_init.password.command', ['list', 'string']],
  ])('give %s a type of the host', (path, type) => {
    expect(typeAt(path)).toEqual(type);
  });

  it('name the stand-in where false cannot be written', () => {
    expect(attributeAt('nics.vlan')?.description).toBe('VLAN tag; `0` for none. Proxmox key: `net.tag`.');
    expect(attributeAt('disks.iso')?.description).toContain('`"none"` leaves the drive empty');
    expect(attributeAt('nics.ipv4.address')?.description).toContain('Also: `"dhcp"`.');
  });
});

describe('attributes from a field table', () => {
  const facts = {
    description: 'A thing.',
    effect: 'restart',
    wire: ['x'],
    examples: ['8s'],
    serverDefault: '1',
  } as const;
  const table = z.strictObject({
    off: field(z.union([z.literal(false), z.strictObject({ size: field(byteSize(), { ...facts }) })]).optional(), {
      description: 'Something; false for none.',
      effect: 'live',
    }),
    pause: field(duration().optional(), facts),
    secret: field(z.string().optional(), { ...facts, secret: true }),
    old: field(z.boolean().default(true), { description: 'Old.', effect: 'none' }).meta({ deprecated: true }),
  });
  const made = attributesOfFields(table);

  it('support a group that can be switched off', () => {
    expect(objectType(made)).toEqual([
      'object',
      { off: ['object', { enabled: 'bool', size: 'string' }], pause: 'string', secret: 'string', old: 'bool' },
    ]);
    expect(made.off?.description).toBe('Something; `enabled = false` for none.');
    expect(attributeAt('off.size', made)?.given).toBe('optional-computed');
  });

  it('describe all facts of the field', () => {
    expect(made.pause?.description).toBe(
      'A thing. Example: `"8s"`. Proxmox’s default: `1`. A change takes effect after a restart. Proxmox key: `x`.',
    );
    expect(made.secret?.sensitive).toBe(true);
    expect(made.old?.deprecated).toBe(true);
  });

  it('accept more of them inside a nested one', () => {
    const more: Attributes = {
      extra: { type: { kind: 'value', type: 'string' }, given: 'computed', description: 'x' },
    };
    expect(typeAt('off.extra', withNested(made, 'off', more))).toBe('string');
    expect(typeAt('off.extra', made)).toBeUndefined();
  });

  it('refuse a kind of field without a rule', () => {
    expect(() => attributesOfFields(z.strictObject({ when: z.date() }))).toThrow('has no type for the host');
  });
});
