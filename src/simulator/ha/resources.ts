/** resources.cfg of the HA manager: which guests are managed, and how. */
import { createHash } from 'node:crypto';
import { dieFault } from '../http/response.ts';
import type { World } from '../world/world.ts';

export interface ServiceId {
  readonly sid: string;
  readonly type: string;
  readonly name: string;
}

/** Rule [recorded ha-resources]: a bare number means the guest with that id, which must exist. */
export function parseServiceId(world: World, text: string): ServiceId {
  if (/^\d+$/.test(text)) {
    if (!world.vms.has(Number(text))) {
      throw dieFault(`unable to detect SID from VMID - VM/CT ${text} does not exist`);
    }
    return { sid: `vm:${text}`, type: 'vm', name: text };
  }
  const colon = text.lastIndexOf(':');
  return { sid: text, type: text.slice(0, colon), name: text.slice(colon + 1) };
}

/** Rule [recorded ha-resources]: the name, then whether there is such a guest of that type. */
export function assertGuest(world: World, { sid, type, name }: ServiceId): void {
  if (type !== 'vm' && type !== 'ct') throw dieFault(`unknown section type '${type}'`);
  if (!/^[1-9][0-9]+$/.test(name)) throw dieFault('invalid VMID');
  if (!world.vms.has(Number(name))) throw dieFault(`resource '${sid}' does not exist in cluster`);
  if (type === 'ct') throw dieFault(`resource '${sid}' - guest with ID ${name} is not a container`);
}

/** Rule [recorded ha-resources]: one digest for the whole file. */
export function resourcesDigest(world: World): string {
  const sections = [...world.ha.resources].map(
    ([sid, options]) =>
      `${sid.replace(':', ': ')}\n${[...options].map(([key, value]) => `\t${key} ${value}\n`).join('')}`,
  );
  return createHash('sha1').update(sections.join('\n')).digest('hex');
}

export function isHaResource(world: World, vmid: number): boolean {
  return world.ha.resources.has(`vm:${vmid}`);
}

/** Rule [source HA Config.pm vm_is_ha_managed]: an ignored resource behaves as if it were not managed. */
export function isHaManaged(world: World, vmid: number): boolean {
  const options = world.ha.resources.get(`vm:${vmid}`);
  return options !== undefined && options.get('state') !== 'ignored';
}

export type RequestedState = 'started' | 'stopped' | 'disabled' | 'ignored';

/**
 * Rule [source HA Config.pm read_and_check_resources_config]: the default is started, and so is the old name `enabled`.
 */
export function requestedState(options: ReadonlyMap<string, string>): RequestedState {
  const state = options.get('state') ?? 'started';
  return state === 'stopped' || state === 'disabled' || state === 'ignored' ? state : 'started';
}

/** Rule [source HA Resources.pm]: one try more on the node, one on another node, unless configured. */
export function limitOf(options: ReadonlyMap<string, string>, key: 'max_restart' | 'max_relocate'): number {
  return Number(options.get(key) ?? 1);
}
