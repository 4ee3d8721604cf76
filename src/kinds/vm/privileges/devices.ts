/** Needs that follow from the value of a key: bridges, host devices, serial ports and custom processor models. */
import { propertyOf } from '../parts.ts';
import { type AclPath, type Need, need, type OneOf, on, type PrivilegeRules, rootOnly } from './need.ts';

/** Where plain bridges of the nodes stand in the tree; a VNet stands below its own zone. */
export const LOCAL_ZONE = '/sdn/zones/localnetwork';

/** A tag or trunks ask for their VLANs, and then not for the bridge itself. */
export function bridgeNeeds(key: string, text: string | undefined): Need[] {
  const nic = propertyOf(key, text);
  const bridge = nic.get('bridge');
  if (bridge === undefined) return [];
  const path = `${LOCAL_ZONE}/${bridge}`;
  const tag = nic.get('tag');
  const vlans = vlansOf(nic.get('trunks') ?? '');
  const use = (at: string, part: string) => need('SDN.Use', on(at), { key, part });
  const tagged = [
    ...(tag === undefined ? [] : [use(`${path}/${tag}`, 'tag')]),
    ...vlans.map((vlan) => use(`${path}/${vlan}`, 'trunks')),
  ];
  return tagged.length > 0 ? tagged : [use(path, 'bridge')];
}

/** `2;10-12` → 2, 10, 11, 12. */
function vlansOf(trunks: string): number[] {
  return trunks
    .split(';')
    .filter(Boolean)
    .flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map(Number);
      return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
    });
}

const HOST_DEVICE = /^(usb|hostpci|virtiofs)\d+$|^rng0$/;

export function isHostDevice(key: string): boolean {
  return HOST_DEVICE.test(key);
}

/** What the device itself asks for, also where it only comes along with a clone. */
export function mappingNeeds(key: string, text: string): Need[] {
  const device = propertyOf(key, text);
  if (key === 'rng0') {
    const isHardware = device.get('source') === '/dev/hwrng';
    return isHardware ? [need('Mapping.Use', on('/mapping/hwrng'), { key, part: 'source' })] : [];
  }
  if (key.startsWith('virtiofs')) {
    return [need('Mapping.Use', on(`/mapping/dir/${device.get('dirid') ?? ''}`), { key, part: 'dirid' })];
  }
  const kind = key.startsWith('usb') ? 'usb' : 'pci';
  const mapping = device.get('mapping');
  if (mapping !== undefined) {
    return [need('Mapping.Use', on(`/mapping/${kind}/${mapping}`), { key, part: 'mapping' })];
  }
  if (kind === 'usb' && device.get('host')?.toLowerCase() === 'spice') return [];
  return [
    rootOnly(
      { key, part: 'host' },
      `Make a mapping for the device under Datacenter, Resource Mappings, and name it in the file: ${kind}.${key}.mapping`,
    ),
  ];
}

/** Setting, changing or removing a device of the host. */
export function hostDeviceNeeds(key: string, text: string, vm: OneOf<AclPath>, rules: PrivilegeRules): Need[] {
  if (key === 'rng0' && !rules.randomNumbers) {
    return [
      rootOnly({ key }, 'Have root set it on the template that is cloned, or update Proxmox VE to 8.4 or newer.'),
    ];
  }
  const own = need(key.startsWith('virtiofs') ? 'VM.Config.Disk' : 'VM.Config.HWType', vm, { key });
  const romFile = propertyOf(key, text).get('romfile');
  return [
    own,
    ...mappingNeeds(key, text),
    ...(key.startsWith('hostpci') && romFile !== undefined
      ? [rootOnly({ key, part: 'romfile' }, 'Leave romfile out, or have root set it on the node: qm set.')]
      : []),
  ];
}

/** Sockets are anybody's; a port of the host is root's. */
export function serialNeeds(key: string, texts: readonly string[], vm: OneOf<AclPath>): Need[] {
  return texts.every((text) => text === 'socket')
    ? [need('VM.Config.HWType', vm, { key })]
    : [rootOnly({ key }, `Write ${key}: socket; a port of the host is for root alone.`)];
}

/** Only a change to another custom model is asked about. */
export function cpuModelNeeds(text: string, before: string | undefined, rules: PrivilegeRules): Need[] {
  const model = propertyOf('cpu', text).get('cputype');
  if (!model?.startsWith('custom-') || propertyOf('cpu', before).get('cputype') === model) return [];
  const cause = { key: 'cpu', part: 'cputype' };
  if (rules.cpuModels === 'nodes') return [need('Sys.Audit', on('/nodes'), cause)];
  return [need('Mapping.Use', on(`/mapping/cpu/${model.slice('custom-'.length)}`), cause)];
}
