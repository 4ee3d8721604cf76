/** The tables of the migration guide, from the same rows that `convert` works by. */

import { LINT_RULES } from '../../src/convert/lint.ts';
import { BPG_VM, BPG_VM2 } from '../../src/convert/mapping/bpg.ts';
import { BPG_IMAGE, BPG_PROVIDER, TELMATE_PROVIDER } from '../../src/convert/mapping/images.ts';
import { isBlockRow, type Row } from '../../src/convert/mapping/rows.ts';
import { TELMATE_VM } from '../../src/convert/mapping/telmate.ts';

export function mappingParts() {
  return {
    'provider-bpg': table('bpg', BPG_PROVIDER),
    'provider-telmate': table('Telmate', TELMATE_PROVIDER),
    'vm-bpg': table('bpg', BPG_VM.rows),
    'cloned-bpg': table('bpg', BPG_VM2.rows),
    'image-bpg': table('bpg', BPG_IMAGE.rows),
    'vm-telmate': table('Telmate', TELMATE_VM.rows),
    traps: traps(),
  };
}

interface Line {
  readonly inside: readonly string[];
  readonly from: string;
  readonly to: string;
}

function table(name: string, rows: readonly Row[]): string {
  const merged: { inside: readonly string[]; from: string[]; to: string }[] = [];
  for (const line of linesOf(rows, [], '')) {
    const last = merged.at(-1);
    const isTogether = last && last.to === line.to && last.inside.join() === line.inside.join();
    if (isTogether) last.from.push(line.from);
    else merged.push({ inside: line.inside, from: [line.from], to: line.to });
  }
  const cells = merged.map(({ inside, from, to }) => `| ${written(inside, from)} | ${to} |`);
  return [`| ${name} | Proxwright |`, '| --- | --- |', ...new Set(cells)].join('\n');
}

/** Blocks for one slot each, of which one is enough to show. */
const NUMBERED = /^(scsi|ide|sata|virtio|pci|usb|ipconfig)([1-9]|\d\d)$/;
const BUSES = /^(ide|sata|virtio)(0)?$/;

function linesOf(rows: readonly Row[], inside: readonly string[], collection: string): readonly Line[] {
  return rows.flatMap((row): readonly Line[] => {
    const name = isBlockRow(row) ? row.block : row.from;
    if (NUMBERED.test(name) || (BUSES.test(name) && inside[0] === 'disks')) return [];
    if (row.cannot !== undefined) return [{ inside, from: name, to: `none. ${row.cannot}` }];
    if (row.drop !== undefined) return [{ inside, from: name, to: `none. ${row.drop}` }];
    if (isBlockRow(row)) {
      const { collection: own } = row;
      const slot =
        own && ('position' in own.key ? `${own.key.position}0` : (own.key.byDefault ?? slotOf(own.to, own.key.prefix)));
      const scalar = own?.scalar
        ? [{ inside: [...inside, name], from: own.scalar.attribute, to: `\`${own.to}.${slot}\`` }]
        : [];
      return scalar.length > 0 ? scalar : linesOf(row.rows, [...inside, name], own ? `${own.to}.${slot}.` : collection);
    }
    const { to = '', as } = row;
    if (row.doc !== undefined) return [{ inside, from: name, to: row.doc }];
    const isSame = (as === undefined || as === 'same') && `${collection}${to}` === [...inside, name].join('.');
    return [{ inside, from: name, to: isSame ? 'the same' : `\`${collection}${to}\`${noteOf(as)}` }];
  });
}

function slotOf(to: string, prefix: string | undefined): string {
  if (prefix !== undefined) return `${prefix}0`;
  return { disks: 'scsi0', nics: 'net0', pci: 'hostpci0', numa_nodes: 'numa0' }[to] ?? `${to}0`;
}

const NOTES: Readonly<Record<string, string>> = {
  GiB: ', with its unit: `"20GiB"`',
  MiB: ', with its unit: `"2GiB"`',
  balloon: ', with its unit; `"none"` for 0',
  seconds: ', with its unit: `"60s"`',
  milliseconds: ', with its unit: `"1s"`',
  on: ': `true` for "on"',
  'number-flag': ': `true` for 1',
  power: ': `"running"` or `"stopped"`',
  'clone-mode': ': `"full"` or `"linked"`',
  restart: ': `"when_needed"` or `"never"`, which is the default',
  text: ', as text',
  'comma-list': ', a list',
  'tag-list': ', a set',
  'vlan-list': ', a list of numbers',
  'semicolon-list': ', a set',
  lines: ', a list',
  words: ', a list',
  iso: '; `"none"` for an empty drive',
  hugepages: ': `"2MiB"`, `"1GiB"` or `"any"`',
  machine: '; options such as viommu go to `machine_options`',
  'boot-order': ', a list',
  ipconfig: ': `ipv4` and `ipv6` with `address` and `gateway`',
  snippet: ' with the text of a snippet that the configuration uploads, otherwise `cloud_init.snippets`',
  cicustom: ', one attribute for each part',
  size: ', the same spelling',
  password: ', which is in no state',
  guest: ' for "cloud-init"',
  'usb-host': ' for "spice"',
  checksum: ' or `sha512`',
  'api-url': ', without /api2/json',
  'one-node': ', the one where the VM is; `proxwright drain` and `rebalance` move it',
  'token-id': ', the id and the secret in one',
  vmid: '; leave it out for the next free one',
};

function noteOf(as: string | undefined): string {
  return as === undefined ? '' : (NOTES[as] ?? '');
}

function written(inside: readonly string[], from: readonly string[]): string {
  if (inside.length === 0) return from.map((name) => `\`${name}\``).join(', ');
  return `\`${inside.map((block) => `${block} { `).join('')}${from.join(', ')}${' }'.repeat(inside.length)}\``;
}

function traps(): string {
  const link = (url: string) => `[${url.includes('/bpg/') ? 'bpg' : 'Telmate'} #${url.split('/').at(-1)}](${url})`;
  const rows = LINT_RULES.map(
    ({ name, remedy, known }) => `| \`${name}\` | ${remedy} | ${known.map(link).join(', ')} |`,
  );
  return ['| rule | what to do | known as |', '| --- | --- | --- |', ...rows].join('\n');
}
