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

function anonymized(world: WorldFile): WorldFile {
  const [nodes, storages, pools, users, macs, mappings] = ['node', 'storage', 'pool', 'user', 'mac', 'mapping'].map(
    (word) => new Names(word),
  ) as [Names, Names, Names, Names, Names, Names]; // one for each word
  const [networks, files, rules, groups, tokens, serials, paths] = [
    ...['net', 'file', 'rule', 'group', 'token', 'serial', 'dir'].map((word) => new Names(word)),
  ] as [Names, Names, Names, Names, Names, Names, Names]; // one for each word
  const addresses = new Names('');
  const node = (name: string) => nodes.of(name);
  const storage = (name: string) => (name === 'local' ? name : storages.of(name));
  const bridge = (name: string) => (PLAIN_BRIDGE.test(name) ? name : networks.of(name));
  // Proxmox names disks after their VM. Every other name was chosen by somebody.
  const fileName = (name: string) => {
    if (DISK_NAME.test(name)) return name;
    const folder = /^[^/]+\//.exec(name)?.[0] ?? '';
    return `${folder}${files.of(name)}${FILE_TYPE.exec(name)?.[0] ?? ''}`;
  };
  const volume = (text: string) =>
    text.replace(/^([A-Za-z][\w.-]*):([^,]+)/, (_, id: string, name: string) => `${storage(id)}:${fileName(name)}`);
  const user = (id: string) => (id === 'root@pam' ? id : `${users.of(id)}@pve`);
  const principal = (id: string) => {
    const [name = '', token] = id.split('!');
    return token === undefined ? user(name) : `${user(name)}!${tokens.of(token)}`;
  };
  const mac = (text: string) => {
    const number = Number(macs.of(text.toUpperCase()).replace('mac', ''));
    const digits = number.toString(16).padStart(6, '0').toUpperCase();
    return `BC:24:11:${digits.slice(0, 2)}:${digits.slice(2, 4)}:${digits.slice(4)}`;
  };
  const address = (text: string) => {
    const number = Number(addresses.of(text));
    return `10.254.${Math.floor(number / 250) % 250}.${(number % 250) + 1}`;
  };
  const address6 = (text: string) => `fd00::${(Number(addresses.of(text)) + 1).toString(16)}`;
  const texts = (text: string) =>
    text
      .replace(/\b([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b/g, mac)
      .replace(/\b\d{1,3}(\.\d{1,3}){3}\b/g, address)
      .replace(
        /\b(ip6|gw6)=([0-9A-Fa-f:]*:[0-9A-Fa-f:]*)/g,
        (_, key: string, found: string) => `${key}=${address6(found)}`,
      )
      .replace(/\bbridge=([^,]+)/, (_, name: string) => `bridge=${bridge(name)}`)
      .replace(/\bserial=([^,]+)/, (_, text: string) => `serial=${serials.of(text)}`);
  const path = (text: string) =>
    text
      .replace(/^\/storage\/([^/]+)/, (_, id: string) => `/storage/${storage(id)}`)
      .replace(/^\/pool\/(.+)/, (_, id: string) => `/pool/${pools.of(id)}`)
      .replace(/^(\/sdn\/zones\/[^/]+\/)([^/]+)/, (_, zone: string, id: string) => `${zone}${bridge(id)}`)
      .replace(/^\/nodes\/([^/]+)/, (_, id: string) => `/nodes/${node(id)}`)
      .replace(/^\/mapping\/(\w+)\/([^/]+)/, (_, kind: string, id: string) => `/mapping/${kind}/${mappings.of(id)}`);
  const config = (id: string, values: Readonly<Record<string, unknown>>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(values).flatMap(([key, value]): [string, string][] => {
        if (key === 'smbios1') return [[key, `uuid=00000000-0000-4000-8000-${id.padStart(12, '0')}`]];
        if (FREE_TEXT.has(key)) return [];
        if (key === 'name') return [[key, `vm-${id}`]];
        const mapped = texts(DRIVE.test(key) ? volume(String(value)) : String(value));
        return [[key, mapped.replace(/mapping=([^,]+)/, (_, name: string) => `mapping=${mappings.of(name)}`)]];
      }),
    );
  const renamed = <Value, Out>(
    record: Readonly<Record<string, Value>> | undefined,
    key: (name: string) => string,
    value: (entry: Value, name: string) => Out,
  ): Record<string, Out> =>
    Object.fromEntries(Object.entries(record ?? {}).map(([name, entry]) => [key(name), value(entry, name)]));
  const same = (name: string) => name;
  return {
    ...(world.version !== undefined && { version: world.version }),
    ...(world.cluster !== undefined && { cluster: 'cluster' }),
    ...(world.entry_node !== undefined && { entry_node: node(world.entry_node) }),
    datacenter: world.datacenter ?? {},
    nodes: renamed(world.nodes, node, (each) => ({
      ...each,
      address: '127.0.0.1',
      bridges: renamed(each.bridges, bridge, ({ cidr: _cidr, dhcp, ...kept }) => ({
        ...kept,
        ...(dhcp && { dhcp: { ...dhcp, reservations: {} } }),
      })),
      filesystems: renamed(each.filesystems, storage, (filesystem) => filesystem),
    })),
    storages: renamed(
      world.storages,
      storage,
      ({ path: _path, options: _options, nodes: only, volumes, ...each }, id) => ({
        ...each,
        filesystem: storage(each.filesystem ?? id),
        ...(only && { nodes: only.map(node) }),
        volumes: (volumes ?? []).map((entry) => ({
          ...entry,
          ...(entry.node !== undefined && { node: node(entry.node) }),
          name: fileName(entry.name),
        })),
      }),
    ),
    guests: world.guests ?? {},
    vms: renamed(world.vms, same, (vm, id) => ({
      ...vm,
      ...(vm.node !== undefined && { node: node(vm.node) }),
      config: config(id, vm.config ?? {}),
      pending: config(id, vm.pending ?? {}),
    })),
    containers: renamed(world.containers, same, (each, id) => ({
      ...each,
      name: `ct-${id}`,
      ...(each.node !== undefined && { node: node(each.node) }),
    })),
    ha: {
      resources: renamed(world.ha?.resources, same, ({ comment: _comment, group, ...each }) => ({
        ...each,
        ...(group !== undefined && { group: groups.of(group) }),
      })),
      groups: renamed(
        world.ha?.groups,
        (name) => groups.of(name),
        ({ comment: _comment, nodes: only = '', ...each }) => ({
          ...each,
          nodes: only.replace(/(^|,)([^,:]+)/g, (_, comma: string, name: string) => `${comma}${node(name)}`),
        }),
      ),
      rules: renamed(
        world.ha?.rules,
        (name) => rules.of(name),
        (rule) => {
          const { comment: _comment, ...each } = rule;
          return each.type === 'node-affinity'
            ? { ...each, nodes: each.nodes.map((text) => text.replace(/^[^:]+/, node)) }
            : each;
        },
      ),
    },
    users: renamed(world.users, user, ({ tokens: own, password }) => ({
      ...(password !== undefined && { password }),
      tokens: renamed(
        own,
        (name) => tokens.of(name),
        ({ secret, privsep }) => ({
          secret,
          ...(privsep !== undefined && { privsep }),
        }),
      ),
    })),
    roles: world.roles ?? {},
    acl: (world.acl ?? []).map((entry) => ({
      ...entry,
      path: path(entry.path),
      ...(entry.user !== undefined && { user: user(entry.user) }),
      ...(entry.token !== undefined && { token: principal(entry.token) }),
    })),
    pools: renamed(
      world.pools,
      (name) => pools.of(name),
      ({ comment: _comment, ...pool }) => ({
        ...pool,
        ...(pool.storages && { storages: pool.storages.map(storage) }),
      }),
    ),
    mappings: {
      pci: renamed(world.mappings?.pci, (name) => mappings.of(name), mappingOf),
      usb: renamed(world.mappings?.usb, (name) => mappings.of(name), mappingOf),
      dir: renamed(world.mappings?.dir, (name) => mappings.of(name), mappingOf),
    },
  };

  function mappingOf({ map = [] }: { readonly map?: readonly string[] | undefined }) {
    const one = (text: string) =>
      text
        .replace(/node=([^,]+)/, (_, name: string) => `node=${node(name)}`)
        .replace(/path=(\/[^,]+)/, (_, path: string) => `path=/mnt/${paths.of(path)}`)
        .replace(/,?description=[^,]+/, '');
    return { map: map.map(one) };
  }
}
