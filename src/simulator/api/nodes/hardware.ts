/** /nodes/{node}/hardware: devices a guest could be given. */
import { splitList } from '../../../pve/wire/index.ts';
import type { CallTo, Routes } from '../../core/call.ts';
import type { PciDevice } from '../../world/world.ts';

export const hardwareRoutes: Routes = {
  'GET /nodes/{node}/hardware/pci': listPciDevices,
  'GET /nodes/{node}/hardware/usb': () => [],
};

/** Rule [source PM API2/Hardware/PCI.pm pciscan]: memory, bridge and processor classes are hidden unless asked for. */
const HIDDEN_CLASSES = ['05', '06', '0b'];

function listPciDevices(call: CallTo<'GET /nodes/{node}/hardware/pci'>): unknown[] {
  const blacklist = call.params['pci-class-blacklist'];
  const hidden = blacklist === undefined ? HIDDEN_CLASSES : splitList(blacklist);
  const isVerbose = call.params.verbose ?? true;
  return (call.runtime.world.nodes.get(call.node)?.pciDevices ?? [])
    .filter((device) => !hidden.some((prefix) => device.class.startsWith(`0x${prefix}`)))
    .map((device) => (isVerbose ? deviceView(device) : { id: device.id }));
}

function deviceView(device: PciDevice): Record<string, unknown> {
  return {
    id: device.id,
    class: device.class,
    vendor: device.vendor,
    device: device.device,
    vendor_name: device.vendorName,
    device_name: device.deviceName,
    subsystem_vendor: device.subsystemVendor,
    subsystem_vendor_name: device.vendorName,
    subsystem_device: device.subsystemDevice,
    iommugroup: device.iommuGroup,
  };
}
