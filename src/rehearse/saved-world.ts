/**
 * A copy of a cluster to keep: for `sim --world`, or to send with a report. Passwords, keys, notes and arguments of QEMU
 * are left out. Anonymized, it names nothing real either: nodes, VMs, storages, bridges, files, users and addresses get other
 * names.
 */
import type { WorldFile } from '../simulator/index.ts';

export interface SaveOptions {
  readonly anonymize: boolean;
}

/** Proxmox masks the first; the others may hold anything. */
const LEFT_OUT = new Set(['cipassword', 'sshkeys', 'args', 'hookscript', 'cicustom']);
/** The ownership line in the notes. */
const OWNERSHIP = /^proxwright: .*$/m;

export function savedWorld(world: WorldFile, { anonymize }: SaveOptions): WorldFile {
  const kept: WorldFile = {
    ...world,
    vms: Object.fromEntries(
      Object.entries(world.vms ?? {}).map(([id, vm]) => [
        id,
        { ...vm, config: withoutSecrets(vm.config ?? {}), pending: withoutSecrets(vm.pending ?? {}) },
      ]),
    ),
  };
  return anonymize ? anonymized(kept) : kept;
}

function withoutSecrets<Value>(config: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(config).flatMap(([key, value]): [string, Value][] => {
      if (LEFT_OUT.has(key)) return [];
      if (key !== 'description') return [[key, value]];
      const line = OWNERSHIP.exec(decoded(String(value)))?.[0];
      return line === undefined ? [] : [[key, line as Value]]; // text like the value it comes from
    }),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Names that the owner chose. */
const FREE_TEXT = new Set(['description', 'tags', 'ciuser', 'searchdomain', 'nameserver', 'smbios1', 'vmgenid']);

/** As Proxmox suggests them. */
const PLAIN_BRIDGE = /^vmbr\d+$/;
const DRIVE = /^(ide|sata|scsi|virtio|efidisk|tpmstate|unused)\d+$/;
const DISK_NAME =
  /^(?:\d+\/)?(?:vm|base|subvol)-\d+-(?:disk-\d+|cloudinit)(?:\.\w+)?(?:\/vm-\d+-disk-\d+(?:\.\w+)?)?$|^none$|^cdrom$/;
const FILE_TYPE = /(?:\.tar)?\.(?:iso|img|qcow2|raw|vmdk|ova|ya?ml|gz|xz|zst)$/;

class Names {
  readonly #known = new Map<string, string>();
  readonly #word: string;

  constructor(word: string) {
    this.#word = word;
  }

  of(name: string): string {
    const known = this.#known.get(name) ?? `${this.#word}${this.#known.size + 1}`;
    this.#known.set(name, known);
    return known;
  }
}

/** What the new names begin with; without a word the name is a number, from which an address is made. */
type Word =
  | 'node'
  | 'storage'
  | 'pool'
  | 'user'
  | 'mac'
  | 'mapping'
  | 'net'
  | 'file'
  | 'rule'
  | 'group'
  | 'token'
  | 'serial'
  | 'dir'
  | '';

/** Other names for everything that a world names, always the same one for the same name. */
class Aliases {
  readonly #names = new Map<Word, Names>();

  readonly node = (name: string) => this.named('node', name);
  readonly storage = (name: string) => (name === 'local' ? name : this.named('storage', name));
  readonly bridge = (name: string) => (PLAIN_BRIDGE.test(name) ? name : this.named('net', name));
  readonly user = (id: string) => (id === 'root@pam' ? id : `${this.named('user', id)}@pve`);

  named(word: Word, name: string): string {
    const names = this.#names.get(word) ?? new Names(word);
    this.#names.set(word, names);
    return names.of(name);
  }

  /** Proxmox names disks after their VM. Every other name was chosen by a person. */
  file(name: string): string {
    if (DISK_NAME.test(name)) return name;
    const folder = /^[^/]+\//.exec(name)?.[0] ?? '';
    return `${folder}${this.named('file', name)}${FILE_TYPE.exec(name)?.[0] ?? ''}`;
  }

  principal(id: string): string {
    const [name = '', token] = id.split('!');
    return token === undefined ? this.user(name) : `${this.user(name)}!${this.named('token', token)}`;
  }

  /** The path of an ACL entry. */
  path(text: string): string {
    return text
      .replace(/^\/storage\/([^/]+)/, (_, id: string) => `/storage/${this.storage(id)}`)
      .replace(/^\/pool\/(.+)/, (_, id: string) => `/pool/${this.named('pool', id)}`)
      .replace(/^(\/sdn\/zones\/[^/]+\/)([^/]+)/, (_, zone: string, id: string) => `${zone}${this.bridge(id)}`)
      .replace(/^\/nodes\/([^/]+)/, (_, id: string) => `/nodes/${this.node(id)}`)
      .replace(
        /^\/mapping\/(\w+)\/([^/]+)/,
        (_, kind: string, id: string) => `/mapping/${kind}/${this.named('mapping', id)}`,
      );
  }

  config(id: string, values: Readonly<Record<string, unknown>>): Record<string, string> {
    return Object.fromEntries(
      Object.entries(values).flatMap(([key, value]): [string, string][] => {
        if (key === 'smbios1') return [[key, `uuid=00000000-0000-4000-8000-${id.padStart(12, '0')}`]];
        if (FREE_TEXT.has(key)) return [];
        if (key === 'name') return [[key, `vm-${id}`]];
        const mapped = this.#texts(DRIVE.test(key) ? this.#volume(String(value)) : String(value));
        return [
          [key, mapped.replace(/mapping=([^,]+)/, (_, name: string) => `mapping=${this.named('mapping', name)}`)],
        ];
      }),
    );
  }

  /** The entries of a mapping, one for each node. */
  mapping({ map = [] }: { readonly map?: readonly string[] | undefined }): { map: string[] } {
    const one = (text: string) =>
      text
        .replace(/node=([^,]+)/, (_, name: string) => `node=${this.node(name)}`)
        .replace(/path=(\/[^,]+)/, (_, path: string) => `path=/mnt/${this.named('dir', path)}`)
        .replace(/,?description=[^,]+/, '');
    return { map: map.map(one) };
  }

  #volume(text: string): string {
    return text.replace(
      /^([A-Za-z][\w.-]*):([^,]+)/,
      (_, id: string, name: string) => `${this.storage(id)}:${this.file(name)}`,
    );
  }

  #texts(text: string): string {
    return text
      .replace(/\b([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b/g, (found) => this.#mac(found))
      .replace(/\b\d{1,3}(\.\d{1,3}){3}\b/g, (found) => this.#address(found))
      .replace(
        /\b(ip6|gw6)=([0-9A-Fa-f:]*:[0-9A-Fa-f:]*)/g,
        (_, key: string, found: string) => `${key}=fd00::${(Number(this.named('', found)) + 1).toString(16)}`,
      )
      .replace(/\bbridge=([^,]+)/, (_, name: string) => `bridge=${this.bridge(name)}`)
      .replace(/\bserial=([^,]+)/, (_, serial: string) => `serial=${this.named('serial', serial)}`);
  }

  #mac(text: string): string {
    const number = Number(this.named('mac', text.toUpperCase()).replace('mac', ''));
    const digits = number.toString(16).padStart(6, '0').toUpperCase();
    return `BC:24:11:${digits.slice(0, 2)}:${digits.slice(2, 4)}:${digits.slice(4)}`;
  }

  #address(text: string): string {
    const number = Number(this.named('', text));
    return `10.254.${Math.floor(number / 250) % 250}.${(number % 250) + 1}`;
  }
}

function anonymized(world: WorldFile): WorldFile {
  const aliases = new Aliases();
  const { node, storage, user } = aliases;
  return {
    ...(world.version !== undefined && { version: world.version }),
    ...(world.cluster !== undefined && { cluster: 'cluster' }),
    ...(world.entry_node !== undefined && { entry_node: node(world.entry_node) }),
    datacenter: world.datacenter ?? {},
    nodes: nodesOf(world, aliases),
    storages: storagesOf(world, aliases),
    guests: world.guests ?? {},
    vms: renamed(world.vms, same, (vm, id) => ({
      ...vm,
      ...(vm.node !== undefined && { node: node(vm.node) }),
      config: aliases.config(id, vm.config ?? {}),
      pending: aliases.config(id, vm.pending ?? {}),
    })),
    containers: renamed(world.containers, same, (each, id) => ({
      ...each,
      name: `ct-${id}`,
      ...(each.node !== undefined && { node: node(each.node) }),
    })),
    ha: haOf(world, aliases),
    users: usersOf(world, aliases),
    roles: world.roles ?? {},
    acl: (world.acl ?? []).map((entry) => ({
      ...entry,
      path: aliases.path(entry.path),
      ...(entry.user !== undefined && { user: user(entry.user) }),
      ...(entry.token !== undefined && { token: aliases.principal(entry.token) }),
    })),
    pools: renamed(
      world.pools,
      (name) => aliases.named('pool', name),
      ({ comment: _comment, ...pool }) => ({
        ...pool,
        ...(pool.storages && { storages: pool.storages.map(storage) }),
      }),
    ),
    mappings: mappingsOf(world, aliases),
  };
}

function nodesOf({ nodes }: WorldFile, { node, bridge, storage }: Aliases): WorldFile['nodes'] {
  return renamed(nodes, node, (each) => ({
    ...each,
    address: '127.0.0.1',
    bridges: renamed(each.bridges, bridge, ({ cidr: _cidr, dhcp, ...kept }) => ({
      ...kept,
      ...(dhcp && { dhcp: { ...dhcp, reservations: {} } }),
    })),
    filesystems: renamed(each.filesystems, storage, (filesystem) => filesystem),
  }));
}

function storagesOf({ storages }: WorldFile, aliases: Aliases): WorldFile['storages'] {
  const { node, storage } = aliases;
  return renamed(storages, storage, ({ path: _path, options: _options, nodes: only, volumes, ...each }, id) => ({
    ...each,
    filesystem: storage(each.filesystem ?? id),
    ...(only && { nodes: only.map(node) }),
    volumes: (volumes ?? []).map((entry) => ({
      ...entry,
      ...(entry.node !== undefined && { node: node(entry.node) }),
      name: aliases.file(entry.name),
    })),
  }));
}

function haOf({ ha }: WorldFile, aliases: Aliases): WorldFile['ha'] {
  const { node } = aliases;
  const group = (name: string) => aliases.named('group', name);
  return {
    resources: renamed(ha?.resources, same, ({ comment: _comment, group: own, ...each }) => ({
      ...each,
      ...(own !== undefined && { group: group(own) }),
    })),
    groups: renamed(ha?.groups, group, ({ comment: _comment, nodes: only = '', ...each }) => ({
      ...each,
      nodes: only.replace(/(^|,)([^,:]+)/g, (_, comma: string, name: string) => `${comma}${node(name)}`),
    })),
    rules: renamed(
      ha?.rules,
      (name) => aliases.named('rule', name),
      (rule) => {
        const { comment: _comment, ...each } = rule;
        return each.type === 'node-affinity'
          ? { ...each, nodes: each.nodes.map((text) => text.replace(/^[^:]+/, node)) }
          : each;
      },
    ),
  };
}

function usersOf({ users }: WorldFile, aliases: Aliases): WorldFile['users'] {
  return renamed(users, aliases.user, ({ tokens, password }) => ({
    ...(password !== undefined && { password }),
    tokens: renamed(
      tokens,
      (name) => aliases.named('token', name),
      ({ secret, privsep }) => ({ secret, ...(privsep !== undefined && { privsep }) }),
    ),
  }));
}

function mappingsOf({ mappings }: WorldFile, aliases: Aliases): WorldFile['mappings'] {
  const name = (text: string) => aliases.named('mapping', text);
  const mapping = (entry: Parameters<Aliases['mapping']>[0]) => aliases.mapping(entry);
  return {
    pci: renamed(mappings?.pci, name, mapping),
    usb: renamed(mappings?.usb, name, mapping),
    dir: renamed(mappings?.dir, name, mapping),
  };
}

function renamed<Value, Out>(
  record: Readonly<Record<string, Value>> | undefined,
  key: (name: string) => string,
  value: (entry: Value, name: string) => Out,
): Record<string, Out> {
  return Object.fromEntries(Object.entries(record ?? {}).map(([name, entry]) => [key(name), value(entry, name)]));
}

const same = (name: string) => name;
