/**
 * The tables of configuration keys and of property strings, beside what the API of the server declares: a sub-key with a
 * wrong name, type or default would make a plan show a change that is none, or hide one.
 */
import { describe, expect, it } from 'vitest';
import { CONFIG_KEYS, type ConfigKey } from '../../src/pve/wire/config-keys.ts';
import type { PropertyFormat as WireFormat } from '../../src/pve/wire/property-string.ts';
import { API_FACTS } from '../../src/simulator/schema/api-facts.generated.ts';
import { formatNamed } from '../../src/simulator/schema/formats.ts';
import type { ParamSchema, PropertyFormat } from '../../src/simulator/schema/types.ts';

const DECLARED = API_FACTS['PUT /nodes/{node}/qemu/{vmid}/config']?.params ?? {};
/** Parameters of the request that are no keys of a configuration. */
const OF_THE_REQUEST = ['delete', 'force', 'node', 'revert', 'skiplock', 'vmid'];
/** Keys that only the server writes. */
const OF_THE_SERVER = [
  'meta',
  'parent',
  'running-nets-host-mtu',
  'runningcpu',
  'runningmachine',
  'snaptime',
  'vmstate',
];

/** What the server does without a key, where its code says so and the declaration does not. */
const UNDECLARED_DEFAULTS: Readonly<Record<string, string>> = {
  freeze: '0',
  cpuunits: '100',
  'drive.backup': '1',
  'drive.detect_zeroes': '1',
  'drive.discard': 'ignore',
  'drive.iothread': '0',
  'drive.ro': '0',
  'drive.snapshot': '0',
  'drive.ssd': '0',
  'net.firewall': '0',
  'net.link_down': '0',
  'smbios1.base64': '0',
};
/** Declared, and not what the server does for every guest; src/pve/wire says why. */
const DOUBTFUL_DEFAULTS = new Set(['boot.legacy', 'cpu.reported-model', 'ipconfig.ip', 'ipconfig.ip6']);
/** The list of words grows with every version of QEMU. */
const OPEN_LISTS = new Set(['cpu.reported-model']);
/** The server reads it with code of its own, and declares only a text. */
const READ_BY_CODE = 'startup';
/** Texts that are lists, by their pattern alone. */
const LISTS = new Set(['net.trunks', 'numa.cpus', 'numa.hostnodes', 'hostpci.host', 'cpu.flags', 'boot.order']);
const ORDERED = ['boot.order', 'hostpci.host'];
const CASE_MEANS_NOTHING = [
  'hostpci.device-id',
  'hostpci.host',
  'hostpci.sub-device-id',
  'hostpci.sub-vendor-id',
  'hostpci.vendor-id',
  'ide.wwn',
  'ipconfig.gw6',
  'ipconfig.ip',
  'ipconfig.ip6',
  'net.macaddr',
  'sata.wwn',
  'scsi.wwn',
  'smbios1.uuid',
  'usb.host',
];

const declared = (key: ConfigKey) => DECLARED[key.count === undefined ? key.name : `${key.name}[n]`];
const defaultOf = (place: string, value: string | number | undefined) =>
  DOUBTFUL_DEFAULTS.has(place) ? undefined : (value?.toString() ?? UNDECLARED_DEFAULTS[place]);

function formatOf({ format }: ParamSchema): PropertyFormat | undefined {
  if (typeof format !== 'string') return format;
  const named = formatNamed(format);
  return named.kind === 'property' ? named.properties : undefined;
}

const isDrive = (name: string) => ['ide', 'sata', 'scsi', 'virtio'].includes(name);

/** A format as the API declares it, in the words of ours. */
function declaredFormat(name: string, format: PropertyFormat) {
  const place = (key: string) =>
    isDrive(name) && `drive.${key}` in UNDECLARED_DEFAULTS ? `drive.${key}` : `${name}.${key}`;
  const entries = Object.entries(format);
  const typeOf = (key: string, { type = 'string', format: named }: ParamSchema) =>
    LISTS.has(`${name}.${key}`) ? 'list' : named === 'disk-size' ? 'disk-size' : type;
  return {
    keys: Object.fromEntries(
      entries
        .filter(([, { alias }]) => alias === undefined)
        .map(([key, schema]) => [
          key,
          {
            type: typeOf(key, schema),
            required: schema.optional !== true,
            default: defaultOf(place(key), schema.default),
            enum: OPEN_LISTS.has(`${name}.${key}`) ? undefined : schema.enum,
          },
        ]),
    ),
    defaultKey: entries.find(([, { default_key: isDefault }]) => isDefault)?.[0],
    aliases: Object.fromEntries(
      entries.flatMap(([key, { alias, keyAlias }]) => (alias === undefined || keyAlias ? [] : [[key, alias]])),
    ),
    pairs: entries.filter(([, { keyAlias }]) => keyAlias !== undefined).map(([key]) => key),
  };
}

function ownFormat({ keys, defaultKey, aliases, pair }: WireFormat) {
  return {
    keys: Object.fromEntries(
      [...keys].map(([key, { type, required = false, default: standard, enum: words }]) => [
        key,
        { type, required, default: standard, enum: words },
      ]),
    ),
    defaultKey,
    aliases: Object.fromEntries(aliases),
    pairs: [...(pair?.names ?? [])],
  };
}

const FORMATS = CONFIG_KEYS.flatMap((key) => ('format' in key ? [key] : []));

describe('the table of configuration keys', () => {
  it('has every key that a request may set, and those that only the server writes', () => {
    const names = CONFIG_KEYS.map(({ name, count }) => (count === undefined ? name : `${name}[n]`));
    expect(names.toSorted()).toEqual(
      [...Object.keys(DECLARED).filter((name) => !OF_THE_REQUEST.includes(name)), ...OF_THE_SERVER].toSorted(),
    );
  });

  it.each(CONFIG_KEYS.filter(({ name }) => !OF_THE_SERVER.includes(name)))('describes $name as the API does', (key) => {
    const schema = declared(key);
    const plain = ['boolean', 'integer', 'number'];
    expect(key.count).toBe(schema?.count);
    expect(plain.includes(key.kind) ? key.kind : 'text').toBe(
      plain.includes(schema?.type ?? '') ? schema?.type : 'text',
    );
    expect('format' in key).toBe(key.name === READ_BY_CODE || (schema !== undefined && formatOf(schema) !== undefined));
    expect(key.default).toBe(defaultOf(key.name, schema?.default));
  });
});

describe('the table of formats', () => {
  it.each(FORMATS.filter(({ name }) => !['cdrom', READ_BY_CODE, ...OF_THE_SERVER].includes(name)))(
    'describes $name as the API declares it',
    (key) => {
      const schema = declared(key);
      const format = schema && formatOf(schema);
      expect(ownFormat(key.format)).toEqual(format && declaredFormat(key.format.name, format));
    },
  );

  it("follows the server's source where the API declares only text", () => {
    const formatNamedHere = (name: string) => {
      const found = FORMATS.find((key) => key.name === name);
      return found && ownFormat(found.format);
    };
    const plain = { required: false, default: undefined, enum: undefined };
    const integer = { type: 'integer', ...plain };
    expect(formatNamedHere('startup')).toEqual({
      keys: { order: integer, up: integer, down: integer },
      defaultKey: 'order',
      aliases: {},
      pairs: [],
    });
    expect(formatNamedHere('meta')?.keys).toEqual({ 'creation-qemu': { type: 'string', ...plain }, ctime: integer });
    expect(FORMATS.find(({ name }) => name === 'cdrom')?.format.name).toBe('ide');
  });

  it('says where case means nothing, and where the order of a list counts', () => {
    const formats = new Map(FORMATS.map(({ format }) => [format.name, format]));
    const places = (is: (subKey: { caseFold?: true; ordered?: true }) => boolean) =>
      [...formats.values()].flatMap(({ name, keys }) =>
        [...keys].flatMap(([key, subKey]) => (is(subKey) ? [`${name}.${key}`] : [])),
      );
    expect(places(({ caseFold }) => caseFold === true).toSorted()).toEqual(CASE_MEANS_NOTHING);
    expect(places(({ ordered }) => ordered === true).toSorted()).toEqual(ORDERED);
  });
});
