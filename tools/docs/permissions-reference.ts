/** The tables of the pages about rights and upgrades, computed by the code of plan, apply and doctor. */
import { kindOf } from '../../src/base/address.ts';
import { formatDiagnostic } from '../../src/base/diagnostics.ts';
import { PROVIDER_FACTS, RESOURCE_FACTS } from '../../src/engine/doctor/upgrade/providers.ts';
import { type AssumedInput, assumedNeeds } from '../../src/engine/privileges/assumed.ts';
import { readingsOf } from '../../src/engine/privileges/check.ts';
import { printPath, type Requirement } from '../../src/engine/privileges/requirement.ts';
import { emptyVm } from '../../src/kinds/vm/privileges/forecast.ts';
import {
  BEHAVIOURS,
  ENDPOINTS,
  lostBetween,
  NEWEST_RELEASE,
  OLDEST_RELEASE,
  PRIVILEGES,
} from '../../src/pve/compatibility.ts';
import { loadStack, type ResolvedStack, resolveStack } from '../../src/spec/index.ts';
import { table } from './markdown.ts';

const NEW = { version: NEWEST_RELEASE };
const OLD = { version: '8.4' };

/** Images, a template, and VMs created in every way, which together set every field that needs its own privilege. */
const SAMPLE = `version: 1
stack: sample
images:
  fetched: { url: "https://images.example.com/a.qcow2", content: import, storage: images }
  installer: { path: ./a.iso, content: iso, storage: images }
templates:
  built:
    vmid: 404
    node: pve1
    disks: { scsi0: { image: fetched, storage: tank } }
    boot: [scsi0]
  installed:
    vmid: 405
    node: pve1
    disks: { scsi0: { storage: tank, size: 8GiB }, ide2: { image: installer } }
    boot: [scsi0, ide2]
    install: {}
vms:
  cloned:
    name: cloned
    vmid: 401
    node: pve1
    guest: cloud-init
    description: Notes.
    tags: [lab]
    clone: { template: 9000 }
    cpu: { cores: 4 }
    memory: 4GiB
    machine: q35
    vga: { type: std }
    serial: { serial0: socket }
    protection: false
    startup: { order: 1 }
    ha: { state: started }
    disks: { scsi0: { size: 20GiB, cache: none }, scsi1: { storage: tank, size: 8GiB } }
    nics: { net0: { bridge: vmbr0, ipv4: dhcp }, net1: { bridge: vmbr0, vlan: 20 } }
    boot: [scsi0]
    cloud_init: { user: ops }
    pci: { hostpci0: { mapping: gpu } }
    ready: { agent: true, os_info: true, cloud_init: true, agent_service: true, exec: [["true"]] }
  created:
    name: created
    vmid: 402
    node: pve1
    disks:
      scsi0: { storage: tank, import_from: "images:import/a.qcow2" }
      ide0: { iso: "images:iso/a.iso" }
    nics: { net0: { bridge: vmbr0, ipv4: dhcp } }
    cloud_init: { storage: tank }
    efi: { storage: tank }
    bios: ovmf
    boot: [scsi0]
  told:
    name: told
    vmid: 403
    node: pve1
    guest: cloud-init
    disks: { scsi0: { storage: tank, import_from: "images:import/a.qcow2" } }
    cloud_init: { storage: images, user_data: { text: "#cloud-config" } }
`;

const TEMPLATE = {
  ...emptyVm(9000, 'pve1'),
  template: true,
  current: new Map([
    ['scsi0', 'tank:base-9000-disk-0,size=4G'],
    ['ide2', 'tank:vm-9000-cloudinit,media=cdrom'],
    ['net0', 'virtio,bridge=vmbr0'],
  ]),
};

const SEEN: AssumedInput['observed'] = {
  templates: new Map([
    ['#9000', [{ vmid: 9000, node: 'pve1', name: 'template', isTemplate: true, vm: { ok: true, value: TEMPLATE } }]],
  ]),
  pciMappings: { ok: true, value: new Map([['gpu', ['node=pve1,path=0000:01:00']]]) },
  // With a second one a VM can move.
  nodes: new Map([['pve2', { online: true }]]),
};

function sample(text = SAMPLE): ResolvedStack {
  const { stack, diagnostics } = resolveStack(loadStack(text, 'sample.yaml'));
  if (!stack) throw new Error(diagnostics.map(formatDiagnostic).join('\n'));
  return stack;
}

function needsOn(version: AssumedInput['version']): readonly Requirement[] {
  const found = assumedNeeds({ stack: sample(), version, now: 0, observed: SEEN, lifecycle: true });
  if (!found.ok) throw new Error(found.problems.map(formatDiagnostic).join('\n'));
  return found.needs.requirements;
}

/** Which field asks for what; fields that ask for the same share a row. */
export function fieldPrivileges(): string {
  const [now, before] = [byField(needsOn(NEW)), byField(needsOn(OLD))];
  const rows = new Map<string, string[]>();
  for (const [field, needs] of now) {
    const older = before.get(field) ?? '';
    const key = JSON.stringify([needs, older === needs ? 'the same' : older]);
    rows.set(key, [...(rows.get(key) ?? []), field]);
  }
  const cells = [...rows].map(([key, fields]) => [fields.join(', '), ...(JSON.parse(key) as string[])]); // made above
  return table(['because of', 'Proxmox VE 9', 'Proxmox VE 8'], cells);
}

function byField(requirements: readonly Requirement[]): Map<string, string> {
  const fields = new Map<string, Set<string>>();
  for (const { privileges, paths, because } of requirements) {
    const need = `${privileges.map((each) => `\`${each}\``).join(' or ')} on ${[...new Set(paths.map((path) => `\`${general(printPath(path))}\``))].join(' or ')}`;
    for (const { where, step } of because) {
      // What the VM as a whole asks for is told by what happens to it.
      const isWhole = where.field === undefined || where.field === 'ownership';
      const field = where.address && kindOf(where.address) === 'image' ? `images.*.${where.field}` : where.field;
      const name = isWhole ? (STEPS[step] ?? step) : `\`${field}\``;
      fields.set(name, new Set([...(fields.get(name) ?? []), need]));
    }
  }
  return new Map([...fields].map(([field, needs]) => [field, [...needs].join('; ')]));
}

const STEPS: Readonly<Record<string, string>> = {
  'image.fetch': 'an image',
  'image.send': 'an image',
  'template.convert': 'being converted to a template',
  'template.install': 'being looked at, named and marked as ours',
  'vm.seed': 'being looked at, named and marked as ours',
  'vm.unseed': 'being looked at, named and marked as ours',
  'vm.clone': 'being cloned',
  'vm.create': 'being created',
  'vm.configure': 'being looked at, named and marked as ours',
  'vm.resize': 'being looked at, named and marked as ours',
  'vm.verify': 'being looked at, named and marked as ours',
  'vm.start': 'being looked at, named and marked as ours',
  'vm.ha': 'being looked at, named and marked as ours',
  ready: 'being looked at, named and marked as ours',
  later: 'being changed and destroyed',
};

function general(path: string): string {
  return path
    .replace(/^\/vms\/9000/, '/vms/TEMPLATE')
    .replace(/^\/vms\/40\d/, '/vms/ID')
    .replace(/^\/nodes\/pve1/, '/nodes/NODE')
    .replace(/^\/pool\/lab/, '/pool/POOL')
    .replace(/^\/storage\/\w+/, '/storage/STORAGE')
    .replace('/vmbr0/20', '/BRIDGE/VLAN')
    .replace('/vmbr0', '/BRIDGE')
    .replace('/gpu', '/MAPPING');
}

/** What no apply needs. */
export function readingPrivileges(): string {
  const rows = readingsOf(sample(SAMPLE.replace('vmid: 402', 'vmid: 402\n    pool: lab')), needsOn(NEW)).map(
    ({ what, privileges, paths }) => [
      what.replace(/(node|storage|pool) \w+$/, (_, kind: string) => `a ${kind}`),
      privileges.map((each) => `\`${each}\``).join(' or '),
      `\`${general(printPath(paths[0])).replace('pve1', 'NODE')}\``,
    ],
  );
  const unique = new Map(rows.map((row) => [row.join(), row]));
  return table(['what', 'privilege', 'path'], [...unique.values()]);
}

/** Privileges that not every supported release knows. */
export function changingPrivileges(): string {
  const rows = Object.entries(PRIVILEGES).flatMap(([name, { since, until, instead }]) =>
    since === undefined && until === undefined
      ? []
      : [[`\`${name}\``, since ?? OLDEST_RELEASE, until === undefined ? '' : until, instead ?? '']],
  );
  return table(['privilege', 'from', 'gone with', 'instead'], rows);
}

/** What goes between 8 and 9, as the table of releases has it. */
export function lostWithNine(): string {
  const nine = { version: '9.0' };
  const rows = [
    ...lostBetween(PRIVILEGES, OLD, nine).map((name) => ['privilege', `\`${name}\``, PRIVILEGES[name]?.instead ?? '']),
    ...lostBetween(ENDPOINTS, OLD, nine).map((name) => ['endpoint', `\`${name}\``, insteadOf(ENDPOINTS, name)]),
    ...lostBetween(BEHAVIOURS, OLD, nine).map((name) => ['behaviour', name, insteadOf(BEHAVIOURS, name)]),
  ];
  return table(['kind', 'what', 'instead'], rows);
}

function insteadOf(facts: Readonly<Record<string, { readonly instead?: string }>>, name: string): string {
  return facts[name]?.instead ?? '';
}

/** Versions of other tools that break, with where that is written. */
export function providerFacts(): string {
  const rows = [
    ...PROVIDER_FACTS.map(({ source, from, until, brokenBy, why, evidence }) => [
      `\`${source}\``,
      from === undefined ? `before ${until}` : `${from} up to, without, ${until}`,
      brokenBy,
      why,
      evidence,
    ]),
    ...RESOURCE_FACTS.map(({ source, brokenBy, why, evidence }) => [`\`${source}\``, 'all', brokenBy, why, evidence]),
  ];
  return table(['provider or resource', 'versions', 'broken by', 'it …', 'evidence'], rows);
}
