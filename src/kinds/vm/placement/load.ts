/** What a VM takes of its node while it runs. */

import { propertyOf } from '../config/parts.ts';
import type { VmFields } from '../fields/index.ts';

const MIB = 1024 ** 2;
/** Proxmox's default. */
const DEFAULT_MEMORY_MIB = 512;

export interface Load {
  readonly memoryBytes: number;
  readonly cores: number;
}

/** From the file, else from the VM or the template that it is cloned from. */
export function loadOf({ memory, cpu }: Pick<VmFields, 'memory' | 'cpu'>, base: ReadonlyMap<string, string>): Load {
  const inheritedMib = Number(propertyOf('memory', base.get('memory')).get('current') ?? DEFAULT_MEMORY_MIB);
  const cores = cpu?.cores ?? Number(base.get('cores') ?? 1);
  const sockets = cpu?.sockets ?? Number(base.get('sockets') ?? 1);
  return { memoryBytes: memory ?? inheritedMib * MIB, cores: cores * sockets };
}
