/** /cluster/status, /cluster/nextid, /cluster/tasks and /cluster: small reads about the whole cluster. */
import { splitProperty } from '../../../pve/wire/index.ts';
import type { Call, CallTo, Routes } from '../../core/call.ts';
import { dieFault, paramFault } from '../../http/response.ts';
import { indexOf } from '../indexes.ts';
import { clusterTaskEntry } from '../nodes/tasks.ts';

export const clusterOverviewRoutes: Routes = {
  'GET /cluster': () =>
    indexOf('name', [
      ...['acme', 'backup', 'backup-info', 'bulk-action', 'ceph', 'config', 'firewall', 'ha', 'jobs', 'log', 'mapping'],
      ...[
        'metrics',
        'notifications',
        'nextid',
        'options',
        'qemu',
        'replication',
        'resources',
        'status',
        'tasks',
        'sdn',
      ],
    ]),
  'GET /cluster/status': clusterStatus,
  'GET /cluster/nextid': nextId,
  'GET /cluster/tasks': clusterTasks,
};

/** Rule [source PM API2/Cluster.pm get_status]: a stand-alone node has no cluster entry and node id 0. */
function clusterStatus(call: Call): unknown[] {
  const { world } = call.runtime;
  const nodes = [...world.nodes.values()].map((node, index) => ({
    type: 'node',
    id: `node/${node.name}`,
    name: node.name,
    nodeid: world.clusterName === undefined ? 0 : index + 1,
    local: node.name === call.node ? 1 : 0,
    online: node.online ? 1 : 0,
    ip: node.address,
    level: '',
  }));
  if (world.clusterName === undefined) return nodes;
  const online = nodes.filter((node) => node.online === 1).length;
  const quorate = online * 2 > nodes.length ? 1 : 0;
  return [
    { type: 'cluster', id: 'cluster', name: world.clusterName, nodes: nodes.length, version: nodes.length, quorate },
    ...nodes,
  ];
}

/** Rule [recorded nextid-parallel]: nothing is reserved, and the number comes as text. */
function nextId(call: CallTo<'GET /cluster/nextid'>): string {
  const { vms, containers, datacenter } = call.runtime.world;
  const isTaken = (vmid: number) => vms.has(vmid) || containers.has(vmid);
  const requested = call.params.vmid;
  if (requested !== undefined) {
    if (isTaken(requested)) throw paramFault({ vmid: `VM ${requested} already exists` });
    return String(requested);
  }
  const range = new Map(splitProperty(datacenter.get('next-id') ?? '').map((part) => [part.key, Number(part.value)]));
  const lower = range.get('lower') ?? 100;
  // Rule [source PM API2/Cluster.pm nextid]: the upper end itself is never given out.
  const upper = range.get('upper') ?? 1_000_000;
  for (let vmid = lower; vmid < upper; vmid++) if (!isTaken(vmid)) return String(vmid);
  throw dieFault(`unable to get any free VMID in range [${lower}, ${upper}]`);
}

const BROADCAST_TASKS = 25;

/** Rule [source PM API2/Cluster.pm tasks]: compares the owner with the caller, so a token does not even see its own. */
function clusterTasks(call: Call): unknown[] {
  const { world, clock } = call.runtime;
  const seesAll = call.may('/', ['Sys.Audit']);
  const newestFirst = [...world.tasks.values()].reverse();
  const now = clock.now();
  return [...world.nodes.keys()]
    .flatMap((node) => {
      const ofNode = newestFirst.filter((task) => task.node === node);
      const running = ofNode.filter((task) => task.endedAt === undefined);
      const finished = ofNode.filter((task) => task.endedAt !== undefined);
      return [...running, ...finished.slice(0, Math.max(0, BROADCAST_TASKS - running.length))];
    })
    .map((task) => clusterTaskEntry(task, now))
    .filter((entry) => seesAll || entry.user === call.caller.authid);
}
