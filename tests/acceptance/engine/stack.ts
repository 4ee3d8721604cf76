/** The stack file of the suite, as text: JSON, because it is put together from values. */
import type { Target } from './target.ts';

const GIB = 1024 ** 3;
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGFjY2VwdGFuY2VhY2NlcHRhbmNlYWNjZXB0YW5jZTEy acceptance';

/** What changes in the course of the suite. */
export interface StackOptions {
  readonly count: number;
  readonly memory: string;
  readonly tags: readonly string[];
  /** Over the size of the template's disk. */
  readonly moreGib: number;
}

/** Addresses come from a documentation network, so no packet can reach a real machine. */
export function stackText(name: string, target: Target, { count, memory, tags, moreGib }: StackOptions): string {
  const { ids, disk, cloudInitStorage } = target;
  return JSON.stringify(
    {
      version: 1,
      stack: name,
      vms: {
        member: {
          count,
          name: `${name}-\${number}`,
          node: target.node,
          guest: 'plain',
          power: target.power,
          vmids: `${ids.first}-${ids.last}`,
          clone: {
            template: target.template,
            mode: target.mode,
            ...(target.storage !== undefined && { storage: target.storage }),
          },
          cpu: { cores: 1 },
          memory,
          disks: { [disk.slot]: { size: `${disk.sizeBytes / GIB + moreGib}GiB` } },
          nics: {
            net0: {
              bridge: target.bridge,
              ipv4: { addresses: '192.0.2.11-192.0.2.60/24', gateway: '192.0.2.1' },
            },
          },
          cloud_init: {
            user: 'acceptance',
            ssh_keys: [KEY],
            dns: { servers: ['192.0.2.53'], domain: 'acceptance.example' },
            ...(cloudInitStorage !== undefined && { storage: cloudInitStorage }),
          },
          tags,
          description: 'Made by the acceptance suite; it may be removed.',
          ...target.fields,
        },
      },
    },
    undefined,
    2,
  );
}
