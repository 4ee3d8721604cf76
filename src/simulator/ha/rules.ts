/** rules.cfg of the HA manager: the nodes that resources may run on, and which resources stay together or apart. */
import { createHash } from 'node:crypto';
import { splitList } from '../schema/perl-text.ts';
import type { World } from '../world/world.ts';
import type { HaRule } from './state.ts';

/** Rule [source HA Rules/NodeAffinity.pm decode_plugin_value]: a node without a priority has 0. */
export function parseNodes(text: string): Map<string, number> {
  return new Map(
    splitList(text).map((entry) => {
      const [node = '', priority = '0'] = entry.split(':');
      return [node, Number(priority)];
    }),
  );
}

/** Rule [source HA Rules/NodeAffinity.pm encode_plugin_value]: sorted, and a priority of 0 is not written. */
export function nodesText(nodes: ReadonlyMap<string, number>): string {
  return [...nodes]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([node, priority]) => (priority === 0 ? node : `${node}:${priority}`))
    .join(',');
}

export function resourcesText(resources: ReadonlySet<string>): string {
  return [...resources].sort().join(',');
}

/** Rule [recorded ha-rules-node-affinity]: one digest for the whole file. */
export function rulesDigest(world: World): string {
  return createHash('sha1')
    .update([...world.ha.rules.values()].map(sectionText).join(''))
    .digest('hex');
}

/** Rule [source PC SectionConfig.pm write_config]: comment, disable, required options, then optional ones. */
function sectionText(rule: HaRule): string {
  const lines = [
    ...(rule.comment ? [`comment ${rule.comment}`] : []),
    ...(rule.isDisabled ? ['disable'] : []),
    rule.type === 'node-affinity' ? `nodes ${nodesText(rule.nodes)}` : `affinity ${rule.affinity}`,
    `resources ${resourcesText(rule.resources)}`,
    ...(rule.type === 'node-affinity' && rule.strict !== undefined ? [`strict ${rule.strict ? 1 : 0}`] : []),
  ];
  return `${rule.type}: ${rule.id}\n${lines.map((line) => `\t${line}\n`).join('')}\n`;
}

/** Rule [source HA Config.pm delete_service_from_config]: with purge the resource leaves its rules, and empty rules go. */
export function removeHaResource(world: World, sid: string, { purge }: { readonly purge: boolean }): boolean {
  const { resources, rules } = world.ha;
  if (!resources.delete(sid)) return false;
  if (!purge) return true;
  for (const rule of rules.values()) {
    const left = new Set([...rule.resources].filter((resource) => resource !== sid));
    if (left.size === 0) rules.delete(rule.id);
    else rules.set(rule.id, { ...rule, resources: left });
  }
  return true;
}
