/** `proxwright import`: takes over a VM that exists already, and prints the stack lines that describe it. */
import { stringify } from 'yaml';
import { type Address, parseAddress, toAddress } from '../../base/address.ts';
import { Canceled, SpecError } from '../../base/errors.ts';
import { type ImportResult, importVm } from '../../engine/import.ts';
import { parseVmid } from '../../pve/index.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { connect } from '../connect.ts';
import { editDoors } from '../edit-doors.ts';
import { openStack } from '../stack-host.ts';
import type { StackOptions } from '../stack-options.ts';
import { paintFor } from '../views/paint.ts';
import { renderDifferences } from '../views/plan-view.ts';

export interface ImportOptions extends StackOptions {
  readonly acceptIdentity?: boolean;
}

export async function runImport(
  addressText: string,
  vmidText: string,
  options: ImportOptions,
  host: CommandHost,
): Promise<ExitCode> {
  const address = requireAddress(addressText);
  const vmid = requireVmid(vmidText);
  const stackHost = await openStack(options, host);
  const pve = await connect(stackHost, host);
  const controller = new AbortController();
  void host.stopRequested().then(() => controller.abort(new Canceled()));
  try {
    const result = await importVm({
      ...editDoors(stackHost, host, 'import'),
      pve,
      log: host.terminal,
      signal: controller.signal,
      stack: stackHost.stack,
      address,
      vmid,
      acceptIdentity: options.acceptIdentity === true,
    });
    show(address, result, stackHost.file, host);
    return 0;
  } finally {
    await pve.close();
  }
}

export function requireAddress(text: string): Address {
  const address = toAddress(text);
  if (address) return address;
  throw new SpecError({
    code: 'BAD_VALUE',
    detail: `"${text}" is not the address of a VM.`,
    hint: `An address looks like vm.web, 'vm.worker[2]' or 'vm.gpu["0000:01:00"]'.`,
  });
}

function requireVmid(text: string): number {
  const vmid = parseVmid(text);
  if (vmid !== undefined) return vmid;
  throw new SpecError({
    code: 'BAD_VALUE',
    detail: `"${text}" is not the id of a VM.`,
    hint: 'Ids are whole numbers from 100; proxwright import vm.web 401',
  });
}

function show(address: Address, result: ImportResult, file: string, host: CommandHost): void {
  const { vm, found, inFile, differences } = result;
  const { terminal } = host;
  if (host.json) {
    terminal.result(
      JSON.stringify({ address, vm, fields: found.written, leftOut: found.leftOut, inFile, differences }),
    );
    return;
  }
  terminal.success(`${address} is now VM ${vm.vmid} (${vm.name}) on ${vm.node}; only its ownership line was written.`);
  for (const text of found.leftOut) terminal.log('warn', `Not in the lines below: ${text}`);
  for (const line of stackLines(address, found.written)) terminal.result(line);
  if (!inFile) {
    terminal.log('info', `${file} does not mention ${address} yet: put these lines there, and the plan is empty.`);
  } else if (differences.length === 0) {
    terminal.log('info', `What ${file} says of it is true already: the plan is empty.`);
  } else {
    terminal.log('warn', `${file} says something else about it, which the next apply would change:`);
    for (const line of renderDifferences(differences, false, paintFor(host.stdout))) terminal.result(line);
  }
}

/** Members of a group are described by overrides; a VM of its own by its group. */
export function stackLines(address: Address, written: Readonly<Record<string, unknown>>): string[] {
  const { group = '', key } = parseAddress(address) ?? {};
  const fields = withOrigin(written);
  const member = typeof key === 'number' ? key : String(written.name ?? key);
  const tree = { vms: { [group]: key === undefined ? fields : { overrides: { [member]: fields } } } };
  const text = stringify(tree, { lineWidth: 0 });
  return text
    .trimEnd()
    .split('\n')
    .map((line) =>
      line.trim() === `template: ${UNKNOWN_TEMPLATE}` ? `${line} # only if it has to be made anew` : line,
    );
}

const UNKNOWN_TEMPLATE = 'name-of-its-template';

/** A file has to say how a VM is made; that of one that exists cannot be told any more. */
function withOrigin(written: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { name, vmid, node, ...rest } = written;
  return { name, vmid, node, clone: { template: UNKNOWN_TEMPLATE }, ...rest };
}
