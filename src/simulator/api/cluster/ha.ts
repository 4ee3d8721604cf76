/** /cluster/ha: high availability that manages nothing. Reading works; making something managed is not simulated. */
import { type Call, type Routes, requiredText } from '../../core/call.ts';
import { dieFault } from '../../http/response.ts';

export const haRoutes: Routes = {
  'GET /cluster/ha/resources': () => [],
  'GET /cluster/ha/resources/{sid}': (call) => {
    throw dieFault(`no such resource '${serviceId(call)}'`);
  },
  'DELETE /cluster/ha/resources/{sid}': (call) => {
    throw dieFault(`cannot delete service '${serviceId(call)}', not HA managed!`);
  },
  // Rule [recorded ha-and-mappings-empty]: groups are history.
  'GET /cluster/ha/groups': () => {
    throw dieFault('cannot index groups: ha groups have been migrated to rules');
  },
  'GET /cluster/ha/rules': () => [],
  'GET /cluster/ha/status/current': (call) => [
    { id: 'quorum', type: 'quorum', node: call.node, quorate: 1, status: 'OK' },
    {
      id: 'fencing',
      type: 'fencing',
      node: call.node,
      'armed-state': 'standby',
      status: 'standby (CRM watchdog standby)',
    },
  ],
  'GET /cluster/ha/status/manager_status': (call) => ({
    manager_status: { node_status: {} },
    quorum: { node: call.node, quorate: '1' },
  }),
};

/** Rule [source HA Tools.pm parse_sid]: a bare id means a VM. */
function serviceId(call: Call): string {
  const sid = requiredText(call.params, 'sid');
  return /^\d+$/.test(sid) ? `vm:${sid}` : sid;
}
