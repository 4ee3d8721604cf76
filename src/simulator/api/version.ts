/** The version, of the cluster's entry point and of a node. */
import type { Call, Routes } from '../core/call.ts';

export const versionRoutes: Routes = {
  'GET /version': versionOf,
  'GET /nodes/{node}/version': versionOf,
};

/** Rule [recorded version-and-auth]: three fields, no privilege needed. */
function versionOf(call: Call): Record<string, string> {
  const { version, release, repoid } = call.runtime.world.version;
  return { version, release, repoid };
}
