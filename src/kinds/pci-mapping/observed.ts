/** What is observed of PCI mappings. */
import type { Readable } from '../cluster.ts';
import type { PciHardware } from './mapping.ts';

export interface PciMappingsObserved {
  readonly pciMappings: Readable<ReadonlyMap<string, readonly string[]>>;
  /** Those of them whose devices move with a running VM; read only where VMs are to be moved. */
  readonly livePciMappings?: ReadonlySet<string>;
  /** What is needed to create mappings; read only if the stack names a device without one. */
  readonly pciMaking?: PciMaking;
}

export const NO_PCI_MAPPINGS: PciMappingsObserved = { pciMappings: { ok: true, value: new Map() } };

export interface PciMaking {
  /** Privileges on /mapping/pci and all below it. */
  readonly privileges: ReadonlySet<string>;
  /** By node. */
  readonly devices: ReadonlyMap<string, Readable<readonly PciHardware[]>>;
}

/** What the doctor's checks of devices look at. */
export interface DevicesExamined {
  /** PCI devices by node; only of nodes on which the stack passes devices through. */
  readonly devices: ReadonlyMap<string, Readable<readonly PciHardware[]>>;
}

export const NO_DEVICES_EXAMINED: DevicesExamined = { devices: new Map() };
