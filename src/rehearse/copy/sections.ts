/** The smaller parts of a copy: downloads, high availability, pools and mappings. */
import type { Observed } from '../../kinds/observed.ts';
import type { ResolvedStack } from '../../kinds/stack.ts';
import type { WorldFile } from '../../simulator/index.ts';
import type { ClusterFacts } from './read-cluster.ts';

type Downloads = NonNullable<WorldFile['downloads']>;
type Ha = NonNullable<WorldFile['ha']>;

const ASSUMED_DOWNLOAD_BYTES = 1024 ** 3;

/** What a node would find: a file with the checksum that the stack declares. */
export function downloadsOf(facts: ClusterFacts, { images }: ResolvedStack, assumptions: string[]): Downloads {
  const found: Downloads = {};
  for (const { fields, file } of images) {
    if (fields.url === undefined || !facts.downloads.has(fields.url)) continue;
    const size = facts.downloads.get(fields.url);
    if (size === undefined) assumptions.push(`The length of ${file} is not known: 1 GiB is assumed.`);
    const { sha256, sha512, compression } = fields;
    found[fields.url] = {
      size: size ?? ASSUMED_DOWNLOAD_BYTES,
      format: fields.content === 'iso' ? 'iso' : 'qcow2',
      checksums: { ...(sha256 !== undefined && { sha256 }), ...(sha512 !== undefined && { sha512 }) },
      ...(compression !== undefined && compression !== 'none' && { compression }),
    };
  }
  if (Object.keys(found).length > 0) assumptions.push('Downloads succeed, and their images boot.');
  return found;
}

const HA_OPTIONS = ['state', 'group', 'max_restart', 'max_relocate', 'failback', 'comment'];

export function haOf({ ha }: ClusterFacts, vms: Readonly<Record<string, unknown>>): Ha {
  const isCopied = (sid: string) => sid.startsWith('vm:') && sid.slice('vm:'.length) in vms;
  const resources: NonNullable<Ha['resources']> = {};
  for (const { sid, ...options } of ha.resources.filter((resource) => isCopied(resource.sid))) {
    const texts = Object.entries(options).filter(([key, value]) => HA_OPTIONS.includes(key) && value !== undefined);
    resources[sid] = Object.fromEntries(
      texts.map(([key, value]) => [key, typeof value === 'boolean' ? String(Number(value)) : String(value)]),
    );
  }
  const rules: NonNullable<Ha['rules']> = {};
  for (const rule of ha.rules) {
    const common = {
      resources: rule.resources.filter(isCopied),
      ...(rule.comment !== undefined && { comment: rule.comment }),
      disabled: rule.disable ?? false,
    };
    if (rule.type === 'node-affinity') {
      const strict = rule.strict === undefined ? {} : { strict: rule.strict };
      rules[rule.rule] = { type: 'node-affinity', ...common, nodes: rule.nodes ?? [], ...strict };
    } else if (rule.type === 'resource-affinity') {
      const affinity = rule.affinity === 'positive' ? 'positive' : 'negative';
      rules[rule.rule] = { type: 'resource-affinity', ...common, affinity };
    }
  }
  return { resources, rules };
}

export function poolsOf({ resources }: ClusterFacts, { pools }: Observed): NonNullable<WorldFile['pools']> {
  const found: Record<string, { vms: number[] }> = {};
  for (const { type, pool } of resources) if (type === 'pool' && pool !== undefined) found[pool] = { vms: [] };
  for (const [name, known] of pools ?? []) if (known.ok && known.value) found[name] ??= { vms: [] };
  for (const { type, pool, vmid } of resources) {
    if (type !== 'qemu' || pool === undefined || vmid === undefined) continue;
    const members = found[pool] ?? { vms: [] };
    members.vms.push(vmid);
    found[pool] = members;
  }
  return found;
}

const MAPPING_OPTIONS = ['description', 'mdev', 'live-migration-capable'];

export function mappingsOf({ mappings }: ClusterFacts): NonNullable<WorldFile['mappings']> {
  const section = (kind: keyof typeof mappings) =>
    Object.fromEntries(
      mappings[kind].map(({ id, map, ...rest }) => {
        const options = Object.entries(rest).filter(
          ([key, value]) => MAPPING_OPTIONS.includes(key) && value !== undefined,
        );
        return [
          id,
          { map: [...map], options: Object.fromEntries(options.map(([key, value]) => [key, String(value)])) },
        ];
      }),
    );
  return { pci: section('pci'), usb: section('usb'), dir: section('dir') };
}
