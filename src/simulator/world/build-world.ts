/** Turns a world file into a `World`: fills in defaults, checks references, and creates the volumes of VMs. */
import type { Instant } from '../../base/clock.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { builtInRoles, privilegesOf } from '../access/privileges.ts';
import { GUEST_PROFILES } from '../guests/profiles.ts';
import { emptyDraft, writtenConfig } from '../vm/config/config-file.ts';
import { newQemuProcess } from '../vm/power/process.ts';
import { usedBytes } from '../vm/power/status.ts';
import { buildContainers, buildHa, buildTasks } from './build-others.ts';
import { buildContents, buildDownloads, buildStorages } from './build-storages.ts';
import type { AclEntry, ApiToken, GuestProfile, ResourceMapping, SimNode, User, Vm, World } from './world.ts';
import { type CompleteWorldFile, type WorldFile, worldFileSchema } from './world-file.ts';

interface BuildOptions {
  readonly now: Instant;
  /** The file's name, for messages. */
  readonly file?: string;
}

export function buildWorld(input: WorldFile, options: BuildOptions): World {
  const parsed = worldFileSchema.safeParse(input);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || '(top)'}: ${issue.message}`);
    throw badWorld(problems.join('\n'), options);
  }
  const file = parsed.data;
  const [firstNode] = Object.keys(file.nodes);
  if (firstNode === undefined) throw badWorld('nodes: a world needs at least one node.', options);
  const entryNode = file.entry_node ?? firstNode;
  const fail = (detail: string): never => {
    throw badWorld(detail, options);
  };
  if (!(entryNode in file.nodes)) fail(`entry_node: there is no node "${entryNode}".`);
  const guests = buildGuests(file, fail);
  const guestNamed = (name: string, where: string): GuestProfile =>
    guests.get(name) ??
    fail(`${where}: there is no guest profile "${name}"; known are ${[...guests.keys()].join(', ')}.`);
  const vms = buildVms(file, entryNode, fail);
  const world: World = {
    version: {
      version: file.version.version,
      release: file.version.release,
      repoid: file.version.repoid,
      qemu: file.version.qemu,
      qemuPatched: file.version.qemu_patched,
    },
    clusterName: file.cluster,
    entryNode,
    datacenter: new Map(Object.entries(file.datacenter)),
    nodes: new Map(Object.entries(file.nodes).map(([name, node]) => [name, buildNode(name, node, options.now)])),
    storages: buildStorages(file, { entryNode, vms, now: options.now, guestNamed, fail }),
    storageConfigWrites: 0,
    vms,
    containers: buildContainers(file, entryNode, fail),
    access: buildAccess(file, fail),
    pools: new Map(
      Object.entries(file.pools).map(([poolid, pool]) => [
        poolid,
        { poolid, comment: pool.comment, vms: new Set(pool.vms), storages: new Set(pool.storages) },
      ]),
    ),
    mappings: {
      pci: buildMappings(file.mappings.pci),
      usb: buildMappings(file.mappings.usb),
      dir: buildMappings(file.mappings.dir),
    },
    ha: buildHa(file),
    tasks: buildTasks(file, fail),
    leftBehind: new Map(),
    downloads: buildDownloads(file, guestNamed),
    contents: buildContents(file, guestNamed),
  };
  for (const [vmid, vm] of Object.entries(file.vms)) {
    const built = vm.running ? vms.get(Number(vmid)) : undefined;
    if (built)
      built.process = newQemuProcess(world, built, {
        pid: 1000 + (built.vmid % 1000),
        startedAt: options.now - 3_600_000,
      });
  }
  for (const [name, { memory_used }] of Object.entries(file.nodes)) {
    const node = world.nodes.get(name);
    if (node && memory_used !== undefined) {
      const ofVms = [...vms.values()].reduce((sum, vm) => sum + (vm.node === name ? usedBytes(vm) : 0), 0);
      world.nodes.set(name, { ...node, hostMemoryBytes: Math.max(0, memory_used - ofVms) });
    }
  }
  return world;
}

/** Rule [assumed]: what a host needs for itself. */
const HOST_MEMORY_BYTES = 1_000_000_000;

function badWorld(detail: string, options: BuildOptions): ProxwrightError {
  return new ProxwrightError({
    code: 'BAD_VALUE',
    detail,
    where: { file: options.file ?? 'world' },
    hint: 'The format of world files is described in docs/simulator.md.',
  });
}

function buildNode(name: string, node: CompleteWorldFile['nodes'][string], now: Instant): SimNode {
  return {
    name,
    address: node.address,
    online: node.online,
    bootedAt: now - node.uptime * 1000,
    cpus: node.cpus,
    memoryBytes: node.memory,
    hostMemoryBytes: HOST_MEMORY_BYTES,
    kvm: node.kvm,
    trafficShaping: node.traffic_shaping,
    bridges: new Map(
      Object.entries(node.bridges).map(([bridge, facts]) => [
        bridge,
        {
          name: bridge,
          cidr: facts.cidr,
          vlanAware: facts.vlan_aware,
          physical: facts.physical,
          active: facts.active,
          dhcp: facts.dhcp && {
            first: facts.dhcp.first,
            last: facts.dhcp.last,
            prefix: facts.dhcp.prefix,
            anyVlan: facts.dhcp.any_vlan,
            reservations: new Map(
              Object.entries(facts.dhcp.reservations).map(([mac, address]) => [mac.toLowerCase(), address]),
            ),
          },
        },
      ]),
    ),
    filesystems: new Map(
      Object.entries(node.filesystems).map(([filesystem, facts]) => [
        filesystem,
        { name: filesystem, totalBytes: facts.total, foreignBytes: facts.foreign, reservedBytes: facts.reserved },
      ]),
    ),
    pciDevices: node.pci.map((device) => ({
      id: device.id,
      class: device.class,
      vendor: device.vendor,
      device: device.device,
      vendorName: device.vendor_name,
      deviceName: device.device_name,
      subsystemVendor: device.subsystem_vendor,
      subsystemDevice: device.subsystem_device,
      iommuGroup: device.iommu_group,
    })),
    directories: node.directories,
    sslFingerprint: node.ssl_fingerprint,
  };
}

function buildVms(file: CompleteWorldFile, entryNode: string, fail: (detail: string) => never): Map<number, Vm> {
  const vms = new Map<number, Vm>();
  for (const [id, vm] of Object.entries(file.vms)) {
    const node = vm.node ?? entryNode;
    if (!(node in file.nodes)) fail(`vms.${id}.node: there is no node "${node}".`);
    const draft = emptyDraft();
    for (const [key, value] of Object.entries(vm.config)) {
      draft.current.set(key, typeof value === 'boolean' ? (value ? '1' : '0') : String(value));
    }
    for (const [key, value] of Object.entries(vm.pending)) draft.pending.set(key, value);
    for (const key of vm.delete) draft.pendingDeletes.set(key, false);
    try {
      vms.set(Number(id), { vmid: Number(id), node, config: writtenConfig(draft), process: undefined });
    } catch (error) {
      fail(`vms.${id}.config: ${error instanceof Error ? error.message.trimEnd() : String(error)}.`);
    }
  }
  return vms;
}

function buildAccess(file: CompleteWorldFile, fail: (detail: string) => never): World['access'] {
  const users = new Map<string, User>();
  const tokens = new Map<string, ApiToken>();
  const root: CompleteWorldFile['users'][string] = { enable: true, expire: 0, groups: [], tokens: {} };
  for (const [userid, user] of Object.entries({ 'root@pam': root, ...file.users })) {
    if (!/^[^@\s]+@[^@\s]+$/.test(userid)) fail(`users.${userid}: a user id has the form name@realm.`);
    users.set(userid, {
      userid,
      enable: user.enable,
      expire: user.expire,
      details: new Map(),
      groups: new Set(user.groups),
      password: user.password,
    });
    for (const [tokenid, token] of Object.entries(user.tokens)) {
      tokens.set(`${userid}!${tokenid}`, {
        userid,
        tokenid,
        secret: token.secret,
        privsep: token.privsep,
        expire: token.expire,
        comment: token.comment,
      });
    }
  }
  const { version } = file.version;
  const known = privilegesOf(version);
  const roles = builtInRoles(version);
  for (const [roleid, privileges] of Object.entries(file.roles)) {
    // Rule [source AC AccessControl.pm parse_user_config]: what a release does not know is passed over.
    const kept = privileges.filter((privilege) => known.has(privilege));
    roles.set(roleid, { roleid, privileges: new Set(kept), special: false });
  }
  return {
    users,
    tokens,
    groups: new Map(
      Object.entries(file.groups).map(([groupid, group]) => [groupid, { groupid, comment: group.comment }]),
    ),
    roles,
    acl: file.acl.map((entry, index) => buildAclEntry(entry, index, roles, fail)),
    realms: new Map([
      ['pam', { type: 'pam', comment: 'Linux PAM standard authentication' }],
      ['pve', { type: 'pve', comment: 'Proxmox VE authentication server' }],
    ]),
  };
}

function buildAclEntry(
  entry: CompleteWorldFile['acl'][number],
  index: number,
  roles: ReadonlyMap<string, unknown>,
  fail: (detail: string) => never,
): AclEntry {
  if (!roles.has(entry.role)) fail(`acl.${index}.role: there is no role "${entry.role}".`);
  for (const kind of ['user', 'group', 'token'] as const) {
    const ugid = entry[kind];
    if (ugid !== undefined) return { path: entry.path, kind, ugid, role: entry.role, propagate: entry.propagate };
  }
  return fail(`acl.${index}: name a user, a group or a token.`);
}

function buildMappings(mappings: CompleteWorldFile['mappings']['pci']): Map<string, ResourceMapping> {
  return new Map(
    Object.entries(mappings).map(([id, mapping]) => [
      id,
      { id, map: [...mapping.map], options: new Map(Object.entries(mapping.options)) },
    ]),
  );
}

function buildGuests(file: CompleteWorldFile, fail: (detail: string) => never): Map<string, GuestProfile> {
  const guests = new Map<string, GuestProfile>(GUEST_PROFILES);
  for (const [name, guest] of Object.entries(file.guests)) {
    guests.set(name, {
      name,
      bootMs: guest.boot_ms,
      agentMs: guest.agent_ms,
      agentService: guest.agent_service,
      networkMs: guest.network_ms,
      shutdownMs: guest.shutdown_ms,
      cloudInit: guest.cloud_init,
      os: guest.os,
      ports: guest.ports,
    });
  }
  // In a second pass, because a medium may install a system that is described after it.
  for (const [name, { installs }] of Object.entries(file.guests)) {
    const own = guests.get(name);
    if (!installs || !own) continue;
    const installed = guests.get(installs.guest);
    if (!installed) {
      const known = [...guests.keys()].join(', ');
      fail(`guests.${name}.installs.guest: there is no guest profile "${installs.guest}"; known are ${known}.`);
    }
    guests.set(name, {
      ...own,
      installs: {
        guest: installed,
        takesMs: installs.takes_ms,
        needsSeed: installs.needs_seed,
        dataBytes: installs.data,
        afterwards: installs.afterwards,
      },
    });
  }
  return guests;
}
