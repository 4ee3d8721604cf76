/**
 * What must hold in the world whatever happened to provider processes: what was asked for is there once and finished, what
 * belongs to others is as it was, and nothing is left behind.
 */

import { macsOf } from '../../../src/kinds/vm/config/parts.ts';
import { findOwnership } from '../../../src/kinds/vm/ownership.ts';
import type { World } from '../../../src/simulator/world/world.ts';
import { overlapping } from '../../simulation/engine/support/invariants.ts';
import { STRANGERS } from '../../simulation/engine/support/lab-world.ts';
import { orphans, ourVms, pictureOf, strangersPicture } from '../../simulation/engine/support/picture.ts';

const OTHERS: ReadonlySet<number> = new Set(STRANGERS);

/** Of our VMs everything but what chance decides. */
export function ownPicture(world: World): string[] {
  return pictureOf(world, OTHERS);
}

/** Everything that is not ours, as one text. */
export function othersPicture(world: World): string {
  return JSON.stringify(strangersPicture(world, OTHERS));
}

/** What makes a VM the one it is, by id: its uuid, and its MAC addresses by slot. */
export function identities(world: World): ReadonlyMap<number, ReadonlyMap<string, string>> {
  return new Map(
    ourVms(world, OTHERS).map(({ vmid, config: { current } }) => {
      // There is none while it is being cloned.
      const uuid = current.get('smbios1');
      return [
        vmid,
        new Map([...(uuid === undefined ? [] : [['uuid', uuid] as const]), ...Object.entries(macsOf(current))]),
      ];
    }),
  );
}

/** A VM that was there before is the same VM afterwards. */
export function changedIdentities(
  before: ReturnType<typeof identities>,
  after: ReturnType<typeof identities>,
): string[] {
  return [...before].flatMap(([vmid, facts]) => {
    const now = after.get(vmid);
    if (!now) return [];
    return [...facts]
      .filter(([name, value]) => now.get(name) !== value)
      .map(([name, value]) => `VM ${vmid}: ${name} was ${value} and is ${now.get(name)}`);
  });
}

/** What is wrong with the world, where these are the names of all VMs there should be. */
export function worldComplaints(world: World, names: readonly string[], othersBefore: string): string[] {
  const ours = ourVms(world, OTHERS);
  const found: string[] = [];
  const actual = ours.map(({ config }) => config.current.get('name') ?? '?').sort();
  if (`${actual}` !== `${[...names].sort()}`) found.push(`VMs are ${actual}, expected ${names}`);
  for (const { vmid, config } of ours) {
    const { current } = config;
    if (current.has('lock')) found.push(`VM ${vmid} is locked (${current.get('lock')})`);
    if (findOwnership(current.get('description') ?? '')?.incomplete) found.push(`VM ${vmid} is marked as incomplete`);
    for (const key of current.keys()) if (key.startsWith('unused')) found.push(`VM ${vmid}: ${key} is left behind`);
  }
  found.push(...orphans(world).map((volume) => `orphan volume ${volume}`));
  if (othersPicture(world) !== othersBefore) found.push('something of others was touched');
  return [...found, ...overlapping(world)];
}
