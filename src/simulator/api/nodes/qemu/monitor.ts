/** Endpoints of a VM that are hardly simulated: …/monitor, …/sendkey and …/rrddata only refuse. */
import type { CallTo, Routes } from '../../../core/call.ts';
import { dieFault, notSimulated } from '../../../http/response.ts';
import { loadVm } from '../../../vm/config/config-file.ts';
import { withVmLock } from '../../../vm/config/locking.ts';
import { isServerSince } from '../../../world/releases.ts';

const HARMLESS_COMMANDS = new Set(['info', 'help', '?']);

export const monitorRoutes: Routes = {
  'POST /nodes/{node}/qemu/{vmid}/monitor': (call) => {
    // Rule [source QS API2/Qemu.pm monitor]: commands that change something need Sys.Modify on /.
    const [name = ''] = call.params.command.trim().split(/\s+/);
    if (!HARMLESS_COMMANDS.has(name)) call.require('/', ['Sys.Modify']);
    const vm = loadVm(call.runtime.world, call.node, call.params.vmid);
    // Rule [source QS API2/Qemu.pm monitor]: an error of QEMU is the answer, not a failure.
    if (!vm.process) return `ERROR: VM ${vm.vmid} not running\n`;
    throw notSimulated('POST', `/nodes/${call.node}/qemu/${vm.vmid}/monitor`);
  },
  'GET /nodes/{node}/qemu/{vmid}/rrddata': (call) => {
    const vmid = call.params.vmid;
    // Rule [recorded unknown-vm]: the history is found by file, not by configuration.
    if (!call.runtime.world.vms.has(vmid)) {
      // Rule [source QS API2/Qemu.pm rrddata of 8.3.12]: the file had another name before 9.0.
      const folder = isServerSince(call.runtime.world, '9.0') ? 'pve-vm-9.0' : 'pve2-vm';
      throw dieFault(
        `RRD error: rrdcached@unix:/var/run/rrdcached.sock: rrd_fetch_r failed: opening '/var/lib/rrdcached/db/${folder}/${vmid}': No such file or directory`,
      );
    }
    throw notSimulated('GET', `/nodes/${call.node}/qemu/${vmid}/rrddata`);
  },
  'PUT /nodes/{node}/qemu/{vmid}/sendkey': (call) =>
    withVmLock(call.runtime, call.node, call.params.vmid, {}, () => sendKey(call)),
};

function sendKey(call: CallTo<'PUT /nodes/{node}/qemu/{vmid}/sendkey'>): never {
  const vm = loadVm(call.runtime.world, call.node, call.params.vmid);
  if (!vm.process) throw dieFault(`VM ${vm.vmid} not running`);
  throw notSimulated('PUT', `/nodes/${call.node}/qemu/${vm.vmid}/sendkey`);
}
