/** What ties a VM to its node, and which mapped devices it uses. Rules [source QS QemuMigrate/Helpers.pm]. */
import { splitProperty } from '../../pve/wire/index.ts';
import { mappingsOnNode } from '../guests/launch.ts';
import { dieFault } from '../http/response.ts';
import { isServerSince } from '../world/releases.ts';
import type { MappingKind, Vm, World } from '../world/world.ts';
import { clipboardOf, isMachineSince } from './machine.ts';

interface MappedResource {
  readonly key: string;
  readonly kind: MappingKind;
  readonly id: string;
  /** The mapping allows live migration of its devices. */
  readonly isLive: boolean;
}

export function mappedResources(world: World, vm: Vm): MappedResource[] {
  return [...vm.config.current].flatMap(([key, value]) => {
    const kind = kindOf(key);
    const name = kind === 'dir' ? 'dirid' : 'mapping';
    const parts = splitProperty(value);
    const id = parts.find((part) => part.key === name || (kind === 'dir' && part.key === undefined))?.value;
    if (!kind || id === undefined) return [];
    const options = world.mappings[kind].get(id)?.options;
    return [{ key, kind, id, isLive: kind === 'pci' && options?.get('live-migration-capable') === '1' }];
  });
}

function kindOf(key: string): MappingKind | undefined {
  if (/^hostpci\d+$/.test(key)) return 'pci';
  if (/^usb\d+$/.test(key)) return 'usb';
  return /^virtiofs\d+$/.test(key) ? 'dir' : undefined;
}

/** Keys whose mapping names nothing of the node. */
export function missingOn(world: World, mapped: readonly MappedResource[], node: string): string[] {
  return mapped.filter(({ kind, id }) => mappingsOnNode(world, kind, id, node).length === 0).map(({ key }) => key);
}

/** Rule [check_local_resources]: sockets are created again on the target node. */
export function localResources(world: World, vm: Vm): string[] {
  const { current } = vm.config;
  const mapped = new Map(mappedResources(world, vm).map((resource) => [resource.key, resource]));
  const ties = [...current].filter(([key, value]) => {
    if (!/^(usb|hostpci|serial|parallel|virtiofs)\d+$/.test(key) || /^(socket|spice)/.test(value)) return false;
    const resource = mapped.get(key);
    return resource?.kind !== 'pci' || (!resource.isLive && vm.process !== undefined);
  });
  return [
    ...(vm.process ? stayingAlive(current) : []),
    ...(current.has('ivshmem') ? ['ivshmem'] : []),
    ...ties.map(([key]) => key),
    ...(isClipboardFixed(world, vm) ? [VNC_CLIPBOARD] : []),
  ];
}

const VNC_CLIPBOARD = 'clipboard=vnc';

/**
 * Rule [source QS QemuMigrate.pm prepare, API2/Qemu.pm migrate_vm_precondition]: a VNC clipboard moves with a running VM
 * from machine version 10.1 on. Before qemu-server 9.1.4, it never did.
 */
function isClipboardFixed(world: World, { process, config: { current } }: Vm): boolean {
  if (!process || clipboardOf(current.get('vga')) !== 'vnc') return false;
  return !isServerSince(world, '9.2') || !isMachineSince(world, process.launched.get('machine'), CLIPBOARD_MOVES);
}

const CLIPBOARD_MOVES = [10, 1] as const;

/** Rule [check_non_migratable_resources]. */
function stayingAlive(current: ReadonlyMap<string, string>): string[] {
  const encrypted = ['amd-sev', 'intel-tdx'].filter((key) => current.has(key));
  return [...encrypted, ...([...current.keys()].some((key) => kindOf(key) === 'dir') ? ['virtiofs'] : [])];
}

/** Rule [source QS QemuMigrate.pm prepare]. */
export function checkLocalResources(world: World, vm: Vm, target: string): void {
  const mapped = mappedResources(world, vm);
  const blocking = localResources(world, vm).filter(
    (key) => key !== VNC_CLIPBOARD && !mapped.some((resource) => resource.key === key),
  );
  if (blocking.length > 0) throw dieFault(`can't migrate VM which uses local devices: ${blocking.join(', ')}`);
  const missing = missingOn(world, mapped, target);
  if (missing.length > 0) throw dieFault(`can't migrate to '${target}': missing mapped devices ${missing.join(', ')}`);
  const fixed = mapped.filter(({ isLive }) => !isLive).map(({ key, id }) => `${key}:${id}`);
  if (vm.process && fixed.length > 0) {
    const names = fixed.sort().join(', ');
    throw dieFault(`can't live migrate running VM which uses following mapped devices: ${names}`);
  }
  if (isClipboardFixed(world, vm)) {
    const since = isServerSince(world, '9.2') ? ' with QEMU/machine versions older than 10.1' : '';
    throw dieFault(`VMs with 'clipboard' set to 'vnc' are not live migratable${since}!`);
  }
}
