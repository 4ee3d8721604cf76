/**
 * The attributes that a mapping knows, and those that configurations use, by the same names: `cpu.cores`, `disk.#.size`. Slots
 * with a number are one: what holds for `scsi0` holds for `scsi30`.
 */
import { type Block, type Body, blocksOf, type Expression } from '../../../src/convert/hcl/syntax.ts';
import { isBlockRow, type Row, type SourceResource } from '../../../src/convert/mapping/rows.ts';
import type { Module } from '../../../src/convert/terraform/module.ts';

/** `disks.scsi.scsi0.disk.size` → `disks.bus.slot.disk.size`. */
export function general(path: string): string {
  return path
    .replace(/^disks\.(?:ide|sata|scsi|virtio)\.(?:ide|sata|scsi|virtio)\d+/, 'disks.bus.slot')
    .replace(/^(pcis|usbs)\.(pci|usb)\d+/, '$1.$2#')
    .replace(/^ipconfig\d+$/, 'ipconfig#');
}

/** Everything that a table has a row for. */
export function mappedPaths(rows: readonly Row[], above = ''): ReadonlySet<string> {
  const paths = rows.flatMap((row): readonly string[] => {
    if (!isBlockRow(row)) return [`${above}${row.from}`];
    const inner = `${above}${row.block}.`;
    const key = row.collection && 'attribute' in row.collection.key ? row.collection.key.attribute : '';
    const drives = Object.values(row.drives ?? {}).flatMap((each) => each.rows);
    const below = [...mappedPaths([...row.rows, ...drives], inner), ...(key === '' ? [] : [`${inner}${key}`])];
    return below.length === 0 ? [`${above}${row.block}`] : below;
  });
  return new Set(paths.map(general));
}

/** Everything that the resources of one kind set in these modules. */
export function usedPaths(modules: readonly Module[], source: SourceResource): ReadonlySet<string> {
  const blocks = modules.flatMap(({ resources }) => resources.filter((each) => each.source === source));
  return new Set(blocks.flatMap(({ block }) => pathsInBody(block.body, source.rows, '')).map(general));
}

const rowsBelow = (rows: readonly Row[], name: string): readonly Row[] | undefined => {
  const row = rows.find((each) => isBlockRow(each) && each.block === name);
  return row && isBlockRow(row) ? row.rows : undefined;
};

function pathsInBody(body: Body, rows: readonly Row[], above: string): readonly string[] {
  return body.items.flatMap((item) => {
    if (item.kind === 'attribute') return pathsInValue(item.name, item.value, rows, above);
    const [name, inner] = item.type === 'dynamic' ? dynamicBlock(item) : [item.type, item.body];
    return [`${above}${name}`, ...pathsInBody(inner, rowsBelow(rows, name) ?? [], `${above}${name}.`)];
  });
}

function dynamicBlock({ labels, body }: Block): readonly [string, Body] {
  const content = blocksOf(body, 'content')[0];
  return [labels[0]?.text ?? '', content?.body ?? body];
}

/** An object may stand for a block, or for blocks by their slots. */
function pathsInValue(name: string, value: Expression, rows: readonly Row[], above: string): readonly string[] {
  const path = `${above}${name}`;
  const row = rows.find((each) => isBlockRow(each) && each.block === name);
  if (!row || !isBlockRow(row) || value.kind !== 'object') return [path];
  const isBySlot = row.collection !== undefined && value.entries.every((entry) => entry.value.kind === 'object');
  const objects = isBySlot ? value.entries.map((entry) => entry.value) : [value];
  const inner = objects.flatMap((object) =>
    object.kind === 'object'
      ? object.entries.flatMap((entry) => pathsInValue(keyOf(entry.key), entry.value, row.rows, `${path}.`))
      : [],
  );
  return [path, ...inner];
}

const keyOf = (key: Expression): string => (key.kind === 'literal' ? String(key.value) : '');
