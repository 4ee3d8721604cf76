/** The stack lines of an imported VM: as printed, and as part of the stack file. */
import { type Document, isMap, parseDocument, stringify } from 'yaml';
import { type Address, parseAddress } from '../../../base/address.ts';

type Lines = Readonly<Record<string, unknown>>;

/** The lines of a group for one of its VMs; `present` is what the file says about the group. */
function groupLines(address: Address, fields: Lines, present: unknown): Lines {
  const { key } = parseAddress(address) ?? {};
  if (key === undefined) return fields;
  const group: Lines = typeof present === 'object' && present !== null ? { ...present } : {};
  if (typeof key === 'number') {
    // The other members of a group keep their values; a group of one has no others.
    if (!('count' in group) && key === 1) return { count: 1, ...fields };
    const count = typeof group.count === 'number' ? Math.max(group.count, key) : (group.count ?? key);
    return { ...(count !== group.count && { count }), overrides: { [key]: fields } };
  }
  const each = Array.isArray(group.each) ? group.each : [];
  if (each.length === 0) return { each: [key], ...fields };
  const place = each.findIndex((element) => String(element) === key);
  return place < 0
    ? { each: [...each, key], overrides: { [each.length + 1]: fields } }
    : { overrides: { [place + 1]: fields } };
}

/** Ready to paste. */
export function stackLines(address: Address, fields: Lines, stackText: string): string[] {
  const group = groupOf(address);
  const lines = groupLines(address, fields, presentGroup(parseDocument(stackText), group));
  return stringify({ vms: { [group]: lines } }, { lineWidth: 0 })
    .trimEnd()
    .split('\n');
}

/** The text of the file with the lines added. */
export function withLines(stackText: string, file: string, address: Address, fields: Lines): string {
  const group = groupOf(address);
  const document = parseDocument(stackText);
  const { overrides = {}, ...rest } = groupLines(address, fields, presentGroup(document, group));
  for (const path of [['vms'], ['vms', group]]) {
    if (!isMap(document.getIn(path))) document.setIn(path, document.createNode({}));
  }
  for (const [key, value] of Object.entries(rest)) document.setIn(['vms', group, key], document.createNode(value));
  for (const [member, value] of Object.entries(overrides as Lines)) {
    const path = ['vms', group, 'overrides'];
    if (!isMap(document.getIn(path))) document.setIn(path, document.createNode({}));
    document.setIn([...path, Number(member)], document.createNode(value));
  }
  return file.endsWith('.json') ? JSON.stringify(document.toJS()) : String(document);
}

const groupOf = (address: Address) => parseAddress(address)?.group ?? '';

function presentGroup(document: Document.Parsed, group: string): unknown {
  const tree: unknown = document.toJS();
  if (typeof tree !== 'object' || tree === null || !('vms' in tree)) return undefined;
  const { vms } = tree;
  return typeof vms === 'object' && vms !== null
    ? Object.entries(vms).find(([name]) => name === group)?.[1]
    : undefined;
}
