/** Whether the cluster takes changes. */
import { counted } from '../../../base/count.ts';
import type { Examination } from '../examination.ts';
import { type Finding, findingsOf } from '../finding.ts';

export function checkQuorum({ cluster }: Pick<Examination, 'cluster'>): Finding[] {
  const say = findingsOf('quorum');
  if (!cluster.ok) return [say.unread('Quorum', cluster.needs)];
  const whole = cluster.value.find(({ type }) => type === 'cluster');
  const nodes = cluster.value.filter(({ type }) => type === 'node');
  const offline = nodes.filter(({ online }) => online === false).map(({ name }) => name);
  if (!whole) return [say.good('One node by itself; there is nobody to agree with.')];
  if (whole.quorate === false) {
    return [
      say.bad(`Cluster ${whole.name} has no quorum: Proxmox refuses every change.`, {
        remedy: `Bring back ${offline.length > 0 ? offline.join(', ') : 'the missing nodes'}; on a node: pvecm status`,
      }),
    ];
  }
  const words = `Cluster ${whole.name} has quorum, ${counted(nodes.length, 'node')}.`;
  if (offline.length === 0) return [say.good(words)];
  return [say.warning(`${words} Offline: ${offline.join(', ')}.`, { remedy: 'On a node: pvecm status' })];
}
