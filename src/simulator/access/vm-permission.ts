/** The question all VM checks come down to: privileges on a VM, or on the pool it is being put into. */
import type { Call } from '../core/call.ts';

/** Rule [source AC RPCEnvironment.pm check_vm_perm]: the pool is asked first; a refusal always names the VM's path. */
export function checkVmPermission(
  call: Call,
  vmid: number,
  pool: string | undefined,
  privileges: readonly string[],
  options: { any?: boolean } = {},
): void {
  if (pool !== undefined && call.may(`/pool/${pool}`, privileges, options)) return;
  call.require(`/vms/${vmid}`, privileges, options);
}
