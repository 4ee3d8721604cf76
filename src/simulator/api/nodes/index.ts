/** GET /nodes: the list of nodes. */
import type { Call, Routes } from '../../core/call.ts';
import { ResourceView } from '../cluster/resource-entries.ts';

export const nodeListRoutes: Routes = {
  'GET /nodes': listNodes,
  'GET /nodes/{node}/lxc': () => [],
};

/** Rule [recorded perm-token-sees-nothing]: everybody sees the nodes; numbers need Sys.Audit. */
function listNodes(call: Call): unknown[] {
  const view = new ResourceView(call.runtime);
  return [...call.runtime.world.nodes.values()].map((node) => ({
    ...view.node(node, call.may(`/nodes/${node.name}`, ['Sys.Audit'])),
    ssl_fingerprint: node.sslFingerprint,
  }));
}
