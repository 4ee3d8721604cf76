/** Files inside a guest: the handful that clients look at, and whatever was written through the agent. */
import type { QemuProcess, Vm } from '../world/world.ts';
import { guestHostName, readsCloudInit } from './guest.ts';

/** Files written by clients stay on the VM's disk, so they live as long as the VM. */
const writtenFiles = new WeakMap<Vm, Map<string, string>>();

export function readGuestFile(vm: Vm, process: QemuProcess, path: string): string | undefined {
  return writtenFiles.get(vm)?.get(path) ?? systemFile(vm, process, path);
}

/** False when the directory does not exist. */
export function writeGuestFile(vm: Vm, path: string, content: string): boolean {
  if (!/^\/(?:tmp|root|etc|opt|srv|home|var|var\/tmp|usr\/local\/bin)?\/?[^/]+$/.test(path)) return false;
  const files = writtenFiles.get(vm) ?? new Map<string, string>();
  files.set(path, content);
  writtenFiles.set(vm, files);
  return true;
}

function systemFile(vm: Vm, process: QemuProcess, path: string): string | undefined {
  const os = process.guest?.os;
  switch (path) {
    case '/etc/hostname':
      return `${guestHostName(vm, process)}\n`;
    case '/etc/os-release':
      return os && `NAME="${os.name}"\nID=${os.id}\nVERSION="${os.version}"\n`;
    case '/var/lib/cloud/data/result.json':
      if (!readsCloudInit(process)) return undefined;
      return '{\n "v1": {\n  "datasource": "DataSourceNoCloud [seed=/dev/sr0]",\n  "errors": []\n }\n}\n';
    case '/var/lib/cloud/instance/boot-finished':
      return readsCloudInit(process) ? `cloud-init finished on ${guestHostName(vm, process)}\n` : undefined;
    default:
      return undefined;
  }
}
