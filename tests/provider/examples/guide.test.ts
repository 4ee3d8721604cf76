/** Checks that the guide "Coming from bpg or Telmate" names only attributes that exist. */
import { describe, expect, it } from 'vitest';
import { VM_SCHEMA } from '../../../src/provider/kinds/vm/schema.ts';
import type { Attributes } from '../../../src/provider/schema/model.ts';
import { codeIn, page } from '../../docs-pages.ts';

const SLOT = /^(ide|sata|scsi|virtio|net|hostpci|usb|serial|virtiofs|numa)\d+$/;
/** Names in our column that are not attributes of a VM: Proxmox keys, Terraform words, the provider block, other resources. */
const FOREIGN = new Set([
  ...['acpi', 'import', 'cicustom', 'connection', 'host', 'self', 'rollout', 'retry', 'true'],
  ...['proxwright_image', 'proxwright_template', 'disk_move', 'arch', 'shares', 'ivshmem', 'false'],
  ...['lifecycle', 'replace_triggered_by', 'proxwright', 'drain', 'rebalance', 'limits'],
]);

function namesOf(attributes: Attributes): string[] {
  return Object.entries(attributes).flatMap(([name, { type }]) => [
    name,
    ...(type.kind === 'nested' ? namesOf(type.attributes) : []),
  ]);
}

/** Names in the last column of the tables about VMs. */
function namedHere(text: string): string[] {
  const [, ...sections] = text.split(/^## (?=From )/m);
  const vms = sections.filter((section) => !section.includes('_download_file'));
  const rows = vms
    .flatMap((section) => (section.split(/^## /m)[0] ?? '').split('\n').slice(1))
    .filter((line) => line.startsWith('| '));
  const cells = rows.slice(1).map((row) => row.split(/(?<!\\)\|/).at(-2) ?? '');
  return cells
    .flatMap(codeIn)
    .flatMap((code) => [...code.replaceAll(/"[^"]*"/g, '').matchAll(/[a-z][a-z0-9_]+/g)].map(String));
}

describe('the migration guide', () => {
  const known = new Set(namesOf(VM_SCHEMA.attributes));
  const unknown = (text: string) =>
    namedHere(text).filter(
      (name) => !known.has(name) && !SLOT.test(name) && !FOREIGN.has(name) && !/^\d*[GM]iB$|^iB$/.test(name),
    );

  it('names only attributes that exist', async () => {
    const { text } = await page('docs/provider/guides/coming-from-bpg-or-telmate.md');
    expect(namedHere(text).length).toBeGreaterThan(150);
    expect(unknown(text)).toEqual([]);
  });

  it('reports an attribute that does not exist', () => {
    expect(
      unknown('## From `a`\n| x | here |\n| - | - |\n| `old` | `memmory = "1GiB"`, `cpu` |\n## From `b`\n'),
    ).toEqual(['memmory']);
  });
});
