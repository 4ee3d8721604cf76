/**
 * `lifecycle` of a translated VM: `ignore_changes` that only suppressed false drift is dropped, the rest is kept under
 * new names.
 */
import type { Block, Expression } from '../hcl/syntax.ts';
import { attributeOf } from '../hcl/syntax.ts';
import { isBlockRow, type Row } from '../mapping/rows.ts';
import { keptBlock, type VmContext } from './context.ts';

/** Attributes whose differences are no drift to Proxwright: by what they are. */
const FALSE_DRIFT = new Set([
  'agent',
  'balloon',
  'boot',
  'bootdisk',
  'cicustom',
  'cipassword',
  'ciuser',
  'clone',
  'default_ipv4_address',
  'disk',
  'disks',
  'efi_disk',
  'efidisk',
  'full_clone',
  'hostpci',
  'initialization',
  'ipv4_addresses',
  'ipv6_addresses',
  'mac_addresses',
  'network',
  'network_device',
  'network_interface_names',
  'operating_system',
  'qemu_os',
  'scsihw',
  'serial_device',
  'sshkeys',
  'ssh_host',
  'ssh_port',
  'startup',
  'startup_shutdown',
  'tablet',
  'tags',
  'tpm_state',
  'usb',
  'vga',
]);

const FALSE_DRIFT_WHY = 'Proxwright compares only what you configure, and another spelling or order is no change.';

/** Undefined: nothing is left of it. */
export function lifecycleLines(block: Block, context: VmContext): readonly string[] | undefined {
  const ignored = attributeOf(block.body, 'ignore_changes');
  const lines = keptBlock(block, context.source, context.references);
  if (ignored?.value.kind !== 'list') return lines;
  const kept: string[] = [];
  for (const item of ignored.value.items) {
    const text = context.source.slice(item.start, item.end);
    const name = rootName(item);
    const row = context.table.rows.find((each) => (isBlockRow(each) ? each.block : each.from) === name);
    if (FALSE_DRIFT.has(name)) context.found('dropped', item, `ignore_changes of ${text}`, FALSE_DRIFT_WHY);
    else if (row && newName(row) !== undefined) kept.push(newName(row) ?? '');
    else context.found('dropped', item, `ignore_changes of ${text}`, 'Nothing has this name any more.');
  }
  const others = block.body.items.filter((item) => item !== ignored);
  if (kept.length === 0 && others.length === 0) return undefined;
  const start = lines.findIndex((line) => line.trimStart().startsWith('ignore_changes'));
  const source = context.source.slice(ignored.start, ignored.end);
  const length = source.split('\n').length;
  const replaced = kept.length > 0 ? [`  ignore_changes = [${[...new Set(kept)].join(', ')}]`] : [];
  return [...lines.slice(0, start), ...replaced, ...lines.slice(start + length)];
}

function rootName(expression: Expression): string {
  if (expression.kind === 'variable') return expression.name;
  return expression.kind === 'access' ? rootName(expression.of) : '';
}

function newName(row: Row): string | undefined {
  if (isBlockRow(row)) {
    const [first] = row.rows;
    const to = row.collection?.to ?? (first && !isBlockRow(first) ? first.to : undefined);
    return to?.split('.')[0];
  }
  return row.to?.split('.')[0];
}
