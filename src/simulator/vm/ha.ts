/** VMs under the care of the HA manager. Of HA only this much is simulated: that a VM is one of its resources. */
import type { Vm } from '../world/world.ts';

const managed = new WeakSet<Vm>();

export function addHaResource(vm: Vm): void {
  managed.add(vm);
}

export function isHaResource(vm: Vm): boolean {
  return managed.has(vm);
}
