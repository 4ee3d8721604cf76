/**
 * Outputs as text: for people, as JSON, for shells, as an Ansible inventory and as DHCP reservations; and the output files.
 * Unknown values are an em dash, null and an empty string.
 */

import { stringify } from 'yaml';
import { safeJson } from '../../base/text/safe-text.ts';
import { shellQuoted } from '../../base/text/shell.ts';
import type { MachineView, NicView } from '../../kinds/shown.ts';
import { DEPRECATED_OUTPUTS, type OutputName } from './contract.ts';
import { talosScript } from './hand-over/talos.ts';
import { isControlPlane, type StackOutputs } from './outputs.ts';

export function outputsAsJson({ values }: Pick<StackOutputs, 'values'>): string {
  return `${safeJson(values, 2)}\n`;
}

/** A table of the VMs, and the other outputs below it, without deprecated names. */
export function outputsForPeople({ values, vms }: StackOutputs): string {
  const hasZones = vms.some(({ zone }) => zone !== null);
  const rows = vms.map(({ name, vmid, node, zone, role, status, nics }) => [
    name,
    String(vmid ?? UNKNOWN),
    node,
    ...(hasZones ? [zone ?? UNKNOWN] : []),
    role ?? UNKNOWN,
    status,
    nics.map(({ slot, ip }) => `${slot} ${ip ?? UNKNOWN}`).join(', ') || UNKNOWN,
  ]);
  const hasTalos = vms.some(({ isTalos }) => isTalos);
  const others = Object.entries(values).flatMap(([name, value]) =>
    isCurrent(name) && (typeof value !== 'object' || (value === null && hasTalos))
      ? [[name, String(value ?? UNKNOWN)]]
      : [],
  );
  const lists = Object.entries(values).flatMap(([name, value]) =>
    isCurrent(name) && Array.isArray(value) && value.length > 0
      ? [[name, value.map((entry) => entry ?? UNKNOWN).join(', ')]]
      : [],
  );
  return `${columns([headings(hasZones), ...rows])}\n${columns([...others, ...lists])}`;
}

const UNKNOWN = '—';
const headings = (hasZones: boolean) => [
  'VM',
  'ID',
  'NODE',
  ...(hasZones ? ['ZONE'] : []),
  'ROLE',
  'STATUS',
  'ADDRESSES',
];

const isCurrent = (name: string) => DEPRECATED_OUTPUTS[name as OutputName] === undefined; // any text may be used as a key

function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('');
}

/**
 * For environment files: the names of the contract in capitals. Lists contain the known values, separated by spaces; maps
 * are JSON.
 */
export function outputsAsEnvironment({ values }: Pick<StackOutputs, 'values'>): string {
  return assignments(values)
    .map((line) => `${line}\n`)
    .join('');
}

/** For `eval "$(proxwright output --format shell)"`: the same, exported. */
export function outputsAsShell({ values }: Pick<StackOutputs, 'values'>): string {
  return assignments(values)
    .map((line) => `export ${line}\n`)
    .join('');
}

function assignments(values: object): string[] {
  return Object.entries(values).map(([name, value]) => `${name.toUpperCase()}=${shellQuoted(shellText(value))}`);
}

function shellText(value: unknown): string {
  if (value === null) return '';
  if (Array.isArray(value)) return value.filter((entry) => entry !== null).join(' ');
  return typeof value === 'object' ? safeJson(value) : String(value);
}

export function ansibleInventory({ stack, vms }: Pick<StackOutputs, 'stack' | 'vms'>): string {
  const hosts = new Set(vms.map(({ name }) => name));
  const groups = new Map<string, Set<string>>();
  for (const vm of vms) {
    for (const group of groupsOf(vm, hosts)) groups.set(group, (groups.get(group) ?? new Set()).add(vm.name));
  }
  const inventory = {
    all: {
      vars: { proxwright_stack: stack },
      hosts: Object.fromEntries(vms.map((vm) => [vm.name, hostVariables(vm)])),
      children: Object.fromEntries(
        [...groups].map(([group, names]) => [
          group,
          { hosts: Object.fromEntries([...names].map((name) => [name, {}])) },
        ]),
      ),
    },
  };
  return stringify(inventory);
}

/** Without a known address there is no `ansible_host`, and Ansible uses the name, which may be in DNS. */
function hostVariables({ ip, user, vmid, node, zone, role, status }: MachineView) {
  return {
    ...(ip !== null && { ansible_host: ip }),
    ...(user !== null && { ansible_user: user }),
    proxmox_vmid: vmid,
    proxmox_node: node,
    ...(zone !== null && { proxwright_zone: zone }),
    proxwright_role: role,
    proxwright_status: status,
  };
}

/** Avoids Ansible's own groups, hyphens, and groups with the name of a host. */
function groupsOf({ role, group }: MachineView, hosts: ReadonlySet<string>): Set<string> {
  const names = [role, group].filter((name) => name !== null).map((name) => name.replace(/[^A-Za-z0-9_]/g, '_'));
  return new Set(names.map((name) => (/^(\d|all$|ungrouped$)/.test(name) || hosts.has(name) ? `group_${name}` : name)));
}

interface Reservation {
  readonly name: string;
  readonly mac: string;
  readonly ip: string | null;
}

/** Lines for a file below `/etc/dnsmasq.d`. */
export function dnsmasqReservations({ vms }: Pick<StackOutputs, 'vms'>): string {
  return lines(vms, ({ name, mac, ip }) => {
    const address = ip?.includes(':') ? `[${ip}]` : ip;
    return `dhcp-host=${[mac, ...(address === null || address === undefined ? [] : [address]), name].join(',')}`;
  });
}

/** Declarations for `dhcpd.conf`. */
export function iscReservations({ vms }: Pick<StackOutputs, 'vms'>): string {
  return lines(vms, ({ name, mac, ip }) => {
    const keyword = ip?.includes(':') ? 'fixed-address6' : 'fixed-address';
    return `host ${name} { hardware ethernet ${mac}; ${ip === null ? '' : `${keyword} ${ip}; `}}`;
  });
}

function lines(vms: StackOutputs['vms'], line: (reservation: Reservation) => string): string {
  return vms
    .flatMap(({ name, nics }) => nics.map((nic, index) => ({ nic, name: index === 0 ? name : `${name}-${nic.slot}` })))
    .map(
      ({ nic, name }) =>
        `${nic.mac === null ? unknownMac(name, nic) : line({ name, mac: nic.mac.toLowerCase(), ip: nic.expected ?? nic.ip })}\n`,
    )
    .join('');
}

function unknownMac(name: string, { slot }: NicView): string {
  return `# ${name}: the MAC address of ${slot} is unknown until the VM exists, unless the stack sets it (nics.${slot}.mac).`;
}

export interface OutputFile {
  /** Without a directory. */
  readonly name: string;
  readonly text: string;
  readonly isScript: boolean;
}

/** All outputs in several formats, and for each VM with an id its address and a summary. */
export function outputFiles(outputs: StackOutputs): OutputFile[] {
  const { vms } = outputs;
  const hasTalos = vms.some((vm) => vm.isTalos && isControlPlane(vm));
  return [
    data('outputs.json', outputsAsJson(outputs)),
    data('outputs.env', outputsAsEnvironment(outputs)),
    data('inventory.yaml', ansibleInventory(outputs)),
    data('dnsmasq.conf', dnsmasqReservations(outputs)),
    ...(hasTalos ? [{ name: 'talos.sh', text: talosScript(outputs), isScript: true }] : []),
    ...vms.flatMap((vm) =>
      vm.vmid === null
        ? []
        : [
            // Empty if no address is known, so that scripts can rely on the file.
            data(`vm_${vm.vmid}_ip.txt`, vm.ip === null ? '' : `${vm.ip}\n`),
            data(`vm_${vm.vmid}_summary.txt`, summary(vm)),
          ],
    ),
  ];
}

const data = (name: string, text: string): OutputFile => ({ name, text, isScript: false });

function summary({ name, vmid, node, zone, role, status, ip, nics }: MachineView): string {
  const lines = [
    ['name', name],
    ['id', vmid],
    ['node', node],
    ...(zone === null ? [] : [['zone', zone]]),
    ['role', role],
    ['status', status],
    ['address', ip],
    ...nics.map(({ slot, mac, ip: address }) => [slot, `${address ?? 'unknown'} (${mac ?? 'MAC unknown'})`]),
  ];
  return lines.map(([key, value]) => `${key}: ${value ?? 'unknown'}\n`).join('');
}
