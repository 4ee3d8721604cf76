/** `/nodes/{node}/hardware`: what could be passed through. */
import { z } from 'zod';
import type { CallOptions } from '../../exchange.ts';
import { apiPath } from '../../path.ts';
import type { Api } from '../../request.ts';
import { flag, maybe, numeric, text } from '../shapes.ts';

const pciDeviceSchema = z.looseObject({
  /** `0000:01:00.0`. */
  id: z.string(),
  class: text,
  vendor: text,
  device: text,
  vendor_name: maybe(text),
  device_name: maybe(text),
  subsystem_vendor: maybe(text),
  subsystem_device: maybe(text),
  /** -1 without an IOMMU. */
  iommugroup: maybe(numeric),
  mdev: maybe(flag),
});
const pciDevicesSchema = z.array(pciDeviceSchema);
export type PciDevice = z.output<typeof pciDeviceSchema>;

const usbDeviceSchema = z.looseObject({
  busnum: numeric,
  devnum: numeric,
  vendid: text,
  prodid: text,
  product: maybe(text),
  manufacturer: maybe(text),
  usbpath: maybe(text),
});
const usbDevicesSchema = z.array(usbDeviceSchema);
export type UsbDevice = z.output<typeof usbDeviceSchema>;

/** The server leaves out bridges and memory controllers unless told otherwise. */
export function listPciDevices(
  api: Api,
  node: string,
  params: { readonly 'pci-class-blacklist'?: string | undefined; readonly verbose?: boolean | undefined } = {},
  options?: CallOptions,
): Promise<PciDevice[]> {
  return api.get(apiPath`/nodes/${node}/hardware/pci`, pciDevicesSchema, { ...params }, options);
}

export function listUsbDevices(api: Api, node: string, options?: CallOptions): Promise<UsbDevice[]> {
  return api.get(apiPath`/nodes/${node}/hardware/usb`, usbDevicesSchema, {}, options);
}
