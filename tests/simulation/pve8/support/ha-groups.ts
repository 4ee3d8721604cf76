/** The HA groups of a world as text, and what an upgrade to Proxmox VE 9 makes of them. */
import type { World } from '../../../../src/simulator/index.ts';
import type { SceneOptions, Snapshot } from '../../engine/support/scene.ts';

/** `control-nodes on pve1,pve2 restricted: vm:501 vm:502`, without the hash of the name. */
export function groupsIn({ ha }: World): string[] {
  return [...ha.groups].map(([group, options]) => {
    const name = group.replace(/^proxwright-lab-(.*)-[0-9a-f]{6}$/, '$1');
    const members = [...ha.resources].filter(([, each]) => each.get('group') === group).map(([sid]) => sid);
    const restricted = options.get('restricted') === '1' ? ' restricted' : '';
    return `${name} on ${options.get('nodes')}${restricted}: ${members.sort().join(' ')}`;
  });
}

/** Rule [source HA Groups.pm migrate_groups_to_rules]: every group with resources becomes a rule, and keeps its comment. */
export function upgrade({ world, ...rest }: Snapshot, version: string): SceneOptions {
  const upgraded = structuredClone(world);
  const { groups, resources, rules } = upgraded.ha;
  for (const [group, options] of groups) {
    const members = [...resources].filter(([, each]) => each.get('group') === group).map(([sid]) => sid);
    if (members.length === 0) continue;
    const id = `ha-group-${group}`;
    rules.set(id, {
      id,
      type: 'node-affinity',
      resources: new Set(members),
      nodes: new Map((options.get('nodes') ?? '').split(',').map((node) => [node, 0])),
      strict: options.get('restricted') === '1',
      comment: options.get('comment'),
      isDisabled: false,
    });
  }
  for (const each of resources.values()) each.delete('group');
  groups.clear();
  return { from: { ...rest, world: { ...upgraded, version: { ...world.version, version, release: version } } } };
}
