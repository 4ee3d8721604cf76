/** `proxwright import`: adopts an existing VM, and prints the stack lines that describe it. */
import { resolve } from 'node:path';
import { type Document, isMap, parseDocument, stringify } from 'yaml';
import { type Address, parseAddress, toAddress } from '../../../base/address.ts';
import { canceled, ProxwrightError } from '../../../base/errors.ts';
import { advice, command } from '../../../base/hint.ts';
import { importExisting } from '../../../engine/take-over.ts';
import type { ImportResult } from '../../../kinds/existing.ts';
import type { ResolvedStack } from '../../../kinds/stack.ts';
import { readTextFile } from '../../../local/text-file.ts';
import { parseVmid } from '../../../pve/index.ts';
import type { CommandDeps, ExitCode, StackOptions } from '../../command.ts';
import { connect } from '../../stack/connect.ts';
import { openStack } from '../../stack/open.ts';
import { readStack } from '../../stack/read.ts';
import { editDeps } from '../../stack/run.ts';
import { importView } from '../../views/import.ts';

export interface ImportOptions extends StackOptions {
  readonly acceptIdentity?: boolean;
}

export async function runImport(
  addressText: string,
  vmidText: string,
  options: ImportOptions,
  deps: CommandDeps,
): Promise<ExitCode> {
  const address = requireAddress(addressText);
  const vmid = requireVmid(vmidText);
  const opened = await openStack(options, deps);
  const pve = await connect(opened, deps);
  const controller = new AbortController();
  void deps.stopRequested().then(() => controller.abort(canceled()));
  try {
    let obstacles: readonly string[] = [];
    const text = await readTextFile(resolve(deps.directory, opened.file), 'a stack file', undefined, opened.file);
    const result = await importExisting({
      ...(await editDeps(opened, deps, 'import')),
      pve,
      log: deps.terminal,
      signal: controller.signal,
      stack: opened.stack,
      address,
      vmid,
      acceptIdentity: options.acceptIdentity === true,
      readLines: async (written) => {
        const reading = await readWithLines(address, written, options, deps);
        obstacles = reading.obstacles;
        return reading.stack;
      },
    });
    const lines = stackLines(address, result.found.written, text);
    importView(deps).imported({ address, result, file: opened.file, lines, obstacles });
    return 0;
  } finally {
    await pve.close();
  }
}

/** The stack once the printed lines are in the file, or what keeps that file from being valid. */
async function readWithLines(
  address: Address,
  written: ImportResult['found']['written'],
  options: ImportOptions,
  deps: CommandDeps,
): Promise<{ readonly stack?: ResolvedStack; readonly obstacles: readonly string[] }> {
  const edit = (text: string, file: string) => withLines(text, file, address, written);
  const { stack, diagnostics } = await readStack(options, deps, edit);
  if (stack?.vms.some((vm) => vm.address === address)) return { stack, obstacles: [] };
  // Positions are left out: they would point into a text that is not in the file.
  const errors = diagnostics.filter(({ severity }) => severity === 'error').map(({ detail }) => detail);
  return { obstacles: errors.length > 0 ? errors : [`The file declares no ${address}. Add it to its group.`] };
}

export function requireAddress(text: string): Address {
  const address = toAddress(text);
  if (address) return address;
  throw new ProxwrightError({
    code: 'BAD_VALUE',
    detail: `"${text}" is not the address of a VM.`,
    hint: `An address looks like vm.web, 'vm.worker[2]' or 'vm.gpu["0000:01:00"]'.`,
  });
}

function requireVmid(text: string): number {
  const vmid = parseVmid(text);
  if (vmid !== undefined) return vmid;
  throw new ProxwrightError({
    code: 'BAD_VALUE',
    detail: `"${text}" is not the id of a VM.`,
    hint: advice`Ids are whole numbers from 100. For example: ${command('import', 'vm.web', 401)}`,
  });
}

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
