/**
 * `lifecycle` of a translated VM: `ignore_changes` that only suppressed false drift is dropped, the rest is kept under
 * new names.
 */
import type { Block, Expression, Span } from '../hcl/syntax.ts';
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

/** A setting of ours by which the difference could still be ignored. */
const realDrift = (name: string | undefined): string =>
  name === undefined
    ? ''
    : ` If the VM really differs from this configuration, the plan shows it: then add \`ignore_changes = [${name}]\`.`;

/** Undefined: nothing is left of it. */
export function lifecycleLines(block: Block, context: VmContext): readonly string[] | undefined {
  const ignored = attributeOf(block.body, 'ignore_changes');
  const { source, references } = context;
  if (ignored?.value.kind !== 'list') return keptBlock(block, source, references);
  const kept: string[] = [];
  for (const item of ignored.value.items) {
    const text = source.slice(item.start, item.end);
    const name = rootName(item);
    const row = context.table.rows.find((each) => (isBlockRow(each) ? each.block : each.from) === name);
    const ours = row && newName(row);
    if (FALSE_DRIFT.has(name)) {
      context.found('dropped', item, `ignore_changes of ${text}`, `${FALSE_DRIFT_WHY}${realDrift(ours)}`);
    } else if (ours !== undefined) kept.push(ours);
    else context.found('dropped', item, `ignore_changes of ${text}`, 'Nothing has this name any more.');
  }
  const others = block.body.items.filter((item) => item !== ignored);
  if (kept.length === 0 && others.length === 0) return undefined;
  const edit =
    kept.length > 0
      ? { start: ignored.start, end: ignored.end, text: `ignore_changes = [${[...new Set(kept)].join(', ')}]` }
      : { ...wholeLine(source, ignored), text: '' };
  return keptBlock(block, source, references, [edit]);
}

/** With its line, if nothing else is on it. */
function wholeLine(source: string, { start, end }: Span): Span {
  const from = source.lastIndexOf('\n', start - 1);
  const to = source.indexOf('\n', end);
  const isAlone = source.slice(from + 1, start).trim() === '' && source.slice(end, to).trim() === '';
  return isAlone ? { start: from, end: source[to - 1] === '\r' ? to - 1 : to } : { start, end };
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
