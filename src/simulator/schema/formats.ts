/**
 * The registered formats by name; each subject has its own file. A format that is not registered here accepts everything,
 * which is only right for the ones listed in `ACCEPTED_UNSEEN`.
 */

import { cpuFormats, cpuProperties } from './formats/cpu.ts';
import type { ContextVerifier, RegisteredFormat } from './formats/format.ts';
import { accessFormats, identifierFormats, identifierProperties } from './formats/identifiers.ts';
import { machineFormats, machineProperties } from './formats/machine.ts';
import { networkFormats, networkProperties } from './formats/network.ts';
import { storageFormats, storageProperties } from './formats/storage.ts';

/** Formats whose endpoints are not simulated: a JSON text with calls to make one after the other. */
export const ACCEPTED_UNSEEN: ReadonlySet<string> = new Set(['pve-command-batch']);

const verifiers: Readonly<Record<string, ContextVerifier>> = {
  ...accessFormats,
  ...cpuFormats,
  ...identifierFormats,
  ...machineFormats,
  ...networkFormats,
  ...storageFormats,
};

const properties = { ...identifierProperties, ...machineProperties, ...networkProperties };

const registered: ReadonlyMap<string, RegisteredFormat> = new Map<string, RegisteredFormat>([
  ...Object.entries(verifiers).map(([name, verify]): [string, RegisteredFormat] => [name, { kind: 'text', verify }]),
  ...Object.entries(properties).map(([name, format]): [string, RegisteredFormat] => [
    name,
    { kind: 'property', properties: format },
  ]),
  ...Object.entries(cpuProperties),
  ...Object.entries(storageProperties),
]);

export function isRegisteredFormat(name: string): boolean {
  return registered.has(name);
}

/** `name` without its `-list` or `-opt`. */
export function formatNamed(name: string): RegisteredFormat {
  return registered.get(name) ?? { kind: 'text', verify: () => undefined };
}
