/** All endpoints the simulator answers, file by file. */
import type { Routes } from '../core/call.ts';
import { aclRoutes } from './access/acl.ts';
import { domainRoutes } from './access/domains.ts';
import { groupRoutes } from './access/groups.ts';
import { accessRoutes } from './access/index.ts';
import { passwordRoutes } from './access/password.ts';
import { permissionRoutes } from './access/permissions.ts';
import { roleRoutes } from './access/roles.ts';
import { ticketRoutes } from './access/ticket.ts';
import { tokenRoutes } from './access/tokens.ts';
import { userRoutes } from './access/users.ts';
import { haRoutes } from './cluster/ha.ts';
import { haGroupRoutes } from './cluster/ha-groups.ts';
import { haStatusRoutes } from './cluster/ha-status.ts';
import { mappingRoutes } from './cluster/mapping.ts';
import { optionsRoutes } from './cluster/options.ts';
import { clusterOverviewRoutes } from './cluster/overview.ts';
import { resourcesRoutes } from './cluster/resources.ts';
import { indexRoutes } from './indexes.ts';
import { hardwareRoutes } from './nodes/hardware.ts';
import { nodeListRoutes } from './nodes/index.ts';
import { networkRoutes } from './nodes/network.ts';
import { agentRoutes } from './nodes/qemu/agent.ts';
import { cloneRoutes } from './nodes/qemu/clone.ts';
import { cloudInitRoutes } from './nodes/qemu/cloudinit.ts';
import { configRoutes } from './nodes/qemu/config.ts';
import { createRoutes } from './nodes/qemu/create.ts';
import { destroyRoutes } from './nodes/qemu/destroy.ts';
import { featureRoutes } from './nodes/qemu/feature.ts';
import { firewallRoutes } from './nodes/qemu/firewall.ts';
import { migrateRoutes } from './nodes/qemu/migrate.ts';
import { monitorRoutes } from './nodes/qemu/monitor.ts';
import { moveDiskRoutes } from './nodes/qemu/move-disk.ts';
import { resizeRoutes } from './nodes/qemu/resize.ts';
import { snapshotRoutes } from './nodes/qemu/snapshot.ts';
import { statusRoutes } from './nodes/qemu/status.ts';
import { templateRoutes } from './nodes/qemu/template.ts';
import { sdnRoutes } from './nodes/sdn.ts';
import { nodeStatusRoutes } from './nodes/status.ts';
import { nodeStorageContentRoutes } from './nodes/storage/content.ts';
import { nodeStorageDownloadRoutes } from './nodes/storage/download.ts';
import { nodeStorageRoutes } from './nodes/storage/status.ts';
import { nodeStorageUploadRoutes } from './nodes/storage/upload.ts';
import { taskRoutes } from './nodes/tasks.ts';
import { poolRoutes } from './pools.ts';
import { storageRoutes } from './storage.ts';
import { versionRoutes } from './version.ts';

export const ROUTES: Routes = {
  ...aclRoutes,
  ...domainRoutes,
  ...groupRoutes,
  ...accessRoutes,
  ...passwordRoutes,
  ...permissionRoutes,
  ...roleRoutes,
  ...ticketRoutes,
  ...tokenRoutes,
  ...userRoutes,
  ...haRoutes,
  ...haGroupRoutes,
  ...haStatusRoutes,
  ...mappingRoutes,
  ...optionsRoutes,
  ...clusterOverviewRoutes,
  ...resourcesRoutes,
  ...indexRoutes,
  ...hardwareRoutes,
  ...nodeListRoutes,
  ...networkRoutes,
  ...agentRoutes,
  ...cloneRoutes,
  ...cloudInitRoutes,
  ...configRoutes,
  ...createRoutes,
  ...destroyRoutes,
  ...featureRoutes,
  ...firewallRoutes,
  ...migrateRoutes,
  ...monitorRoutes,
  ...moveDiskRoutes,
  ...resizeRoutes,
  ...snapshotRoutes,
  ...statusRoutes,
  ...templateRoutes,
  ...sdnRoutes,
  ...nodeStatusRoutes,
  ...nodeStorageContentRoutes,
  ...nodeStorageDownloadRoutes,
  ...nodeStorageRoutes,
  ...nodeStorageUploadRoutes,
  ...taskRoutes,
  ...poolRoutes,
  ...storageRoutes,
  ...versionRoutes,
};
