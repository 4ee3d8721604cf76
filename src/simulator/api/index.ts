/** All endpoints the simulator answers, file by file. */
import type { Routes } from '../core/call.ts';
import { aclRoutes } from './access/acl.ts';
import { groupRoutes } from './access/groups.ts';
import { loginRoutes } from './access/login.ts';
import { userRoutes } from './access/users.ts';
import { bulkActionRoutes } from './cluster/bulk-action.ts';
import { haRoutes } from './cluster/ha.ts';
import { haRuleRoutes } from './cluster/ha-rules.ts';
import { mappingRoutes } from './cluster/mapping.ts';
import { optionsRoutes } from './cluster/options.ts';
import { clusterOverviewRoutes } from './cluster/overview.ts';
import { resourcesRoutes } from './cluster/resources.ts';
import { emptyRoutes, indexRoutes } from './indexes.ts';
import { allGuestsRoutes } from './nodes/all-guests.ts';
import { networkRoutes } from './nodes/network.ts';
import { agentRoutes } from './nodes/qemu/agent.ts';
import { cloneRoutes } from './nodes/qemu/clone.ts';
import { cloudInitRoutes } from './nodes/qemu/cloudinit.ts';
import { configRoutes } from './nodes/qemu/config.ts';
import { createRoutes } from './nodes/qemu/create.ts';
import { destroyRoutes } from './nodes/qemu/destroy.ts';
import { diskRoutes } from './nodes/qemu/disks.ts';
import { migrateRoutes } from './nodes/qemu/migrate.ts';
import { monitorRoutes } from './nodes/qemu/monitor.ts';
import { snapshotRoutes } from './nodes/qemu/snapshot.ts';
import { statusRoutes } from './nodes/qemu/status.ts';
import { templateRoutes } from './nodes/qemu/template.ts';
import { nodeRoutes } from './nodes/status.ts';
import { nodeStorageContentRoutes } from './nodes/storage/content.ts';
import { nodeStorageDownloadRoutes } from './nodes/storage/download.ts';
import { nodeStorageRoutes } from './nodes/storage/status.ts';
import { nodeStorageUploadRoutes } from './nodes/storage/upload.ts';
import { taskRoutes } from './nodes/tasks.ts';
import { poolRoutes } from './pools.ts';
import { storageRoutes } from './storage.ts';

export const ROUTES: Routes = {
  ...aclRoutes,
  ...groupRoutes,
  ...loginRoutes,
  ...userRoutes,
  ...bulkActionRoutes,
  ...haRoutes,
  ...haRuleRoutes,
  ...mappingRoutes,
  ...optionsRoutes,
  ...clusterOverviewRoutes,
  ...resourcesRoutes,
  ...emptyRoutes,
  ...indexRoutes,
  ...allGuestsRoutes,
  ...networkRoutes,
  ...agentRoutes,
  ...cloneRoutes,
  ...cloudInitRoutes,
  ...configRoutes,
  ...createRoutes,
  ...destroyRoutes,
  ...migrateRoutes,
  ...monitorRoutes,
  ...diskRoutes,
  ...snapshotRoutes,
  ...statusRoutes,
  ...templateRoutes,
  ...nodeRoutes,
  ...nodeStorageContentRoutes,
  ...nodeStorageDownloadRoutes,
  ...nodeStorageRoutes,
  ...nodeStorageUploadRoutes,
  ...taskRoutes,
  ...poolRoutes,
  ...storageRoutes,
};
