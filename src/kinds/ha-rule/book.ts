/**
 * Where the server keeps an HA rule: among its rules, or before Proxmox VE 9 as an HA group. A group says which nodes
 * its resources run on, and a resource names its group, so a change of one takes several requests. Each of them can be
 * repeated, and the next look shows what is missing. Groups cannot keep VMs apart.
 */
import { hasEndpoint } from '../../pve/compatibility.ts';
import type { CallOptions, HaRule, HaRuleParams, Pve } from '../../pve/index.ts';

type Release = Parameters<typeof hasEndpoint>[0];

type RuleParams = HaRuleParams & { readonly type: string };

export interface RuleBook {
  list(options: CallOptions): Promise<HaRule[]>;
  create(rule: string, params: RuleParams & { readonly comment: string }, options: CallOptions): Promise<void>;
  update(
    rule: string,
    params: RuleParams & { readonly delete?: 'disable'; readonly digest?: string | undefined },
    options: CallOptions,
  ): Promise<void>;
  delete(rule: string, options: CallOptions): Promise<void>;
}

export function hasGroups(version: Release): boolean {
  return !hasEndpoint(version, '/cluster/ha/rules');
}

export function ruleBook({ cluster }: Pve, version: Release): RuleBook {
  return hasGroups(version) ? groupBook(cluster) : cluster.haRules;
}

function groupBook({ ha, haGroups }: Pve['cluster']): RuleBook {
  const membersOf = async (group: string, options: CallOptions) =>
    (await ha.listAll(options)).filter((resource) => resource.group === group).map(({ sid }) => sid);
  const leave = async (sids: readonly string[], options: CallOptions) => {
    for (const sid of sids) await ha.update(vmidOf(sid), { delete: 'group' }, options);
  };
  const join = async (group: string, sids: readonly string[], options: CallOptions) => {
    for (const sid of sids) await ha.update(vmidOf(sid), { group }, options);
  };
  return {
    list: async (options) => {
      const [groups, resources] = await Promise.all([haGroups.list(options), ha.listAll(options)]);
      return groups.map(({ group, nodes, restricted, comment, digest }) => ({
        rule: group,
        type: 'node-affinity',
        nodes,
        strict: restricted,
        comment,
        digest,
        affinity: undefined,
        disable: undefined,
        resources: resources.filter((resource) => resource.group === group).map(({ sid }) => sid),
      }));
    },
    create: async (group, { nodes = [], resources, comment }, options) => {
      await haGroups.create(group, { nodes, restricted: true, comment }, options);
      await join(group, resources, options);
    },
    update: async (group, { nodes, resources, digest }, options) => {
      const present = await membersOf(group, options);
      await leave(
        present.filter((sid) => !resources.includes(sid)),
        options,
      );
      if (nodes) await haGroups.update(group, { nodes, restricted: true, digest }, options);
      await join(
        group,
        resources.filter((sid) => !present.includes(sid)),
        options,
      );
    },
    delete: async (group, options) => {
      await leave(await membersOf(group, options), options);
      await haGroups.delete(group, options);
    },
  };
}

const vmidOf = (sid: string) => Number(sid.slice(sid.indexOf(':') + 1));
