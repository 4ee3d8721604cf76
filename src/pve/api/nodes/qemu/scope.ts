/** Identifies the VM that a handle is about. */
import { type ApiPath, apiPath } from '../../../path.ts';
import type { Api } from '../../../request.ts';

export interface VmScope {
  readonly api: Api;
  readonly node: string;
  readonly vmid: number;
}

/** `/nodes/{node}/qemu/{vmid}` with a fixed tail, such as `/status/start`. */
export function vmPath(scope: VmScope, tail = ''): ApiPath {
  const base = apiPath`/nodes/${scope.node}/qemu/${scope.vmid}`;
  return { encoded: base.encoded + tail, shown: base.shown + tail };
}
