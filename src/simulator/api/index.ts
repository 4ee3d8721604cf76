/** All endpoints the simulator answers, file by file. */
import type { Routes } from '../core/call.ts';
import { optionsRoutes } from './cluster/options.ts';
import { clusterOverviewRoutes } from './cluster/overview.ts';
import { resourcesRoutes } from './cluster/resources.ts';
import { indexRoutes } from './indexes.ts';
import { cloneRoutes } from './nodes/qemu/clone.ts';
import { configRoutes } from './nodes/qemu/config.ts';
import { createRoutes } from './nodes/qemu/create.ts';
import { destroyRoutes } from './nodes/qemu/destroy.ts';
import { taskRoutes } from './nodes/tasks.ts';

export const ROUTES: Routes = {
  ...optionsRoutes,
  ...clusterOverviewRoutes,
  ...resourcesRoutes,
  ...indexRoutes,
  ...cloneRoutes,
  ...configRoutes,
  ...createRoutes,
  ...destroyRoutes,
  ...taskRoutes,
};
