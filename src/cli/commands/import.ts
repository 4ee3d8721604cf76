/** `proxwright import`: takes over a VM that exists already, and prints the stack lines that describe it. */
import { resolve } from 'node:path';
import { type Address, toAddress } from '../../base/address.ts';
import { canceled, ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import { type ImportResult, importVm } from '../../engine/import.ts';
import { readTextFile } from '../../local/text-file.ts';
import { parseVmid } from '../../pve/index.ts';
import type { VmFields } from '../../resources/vm/fields.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { connect } from '../connect.ts';
import { editDoors } from '../edit-doors.ts';
import { stackLines, withLines } from '../imported-lines.ts';
import { openStack, readStack } from '../stack-host.ts';
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
  void host.stopRequested().then(() => controller.abort(canceled()));
  try {
    let obstacles: readonly string[] = [];
    const text = await readTextFile(resolve(host.directory, stackHost.file), 'a stack file', undefined, stackHost.file);
    const result = await importVm({
      ...editDoors(stackHost, host, 'import'),
      pve,
      log: host.terminal,
      signal: controller.signal,
      stack: stackHost.stack,
      address,
      vmid,
      acceptIdentity: options.acceptIdentity === true,
      readLines: async (written) => {
        const reading = await readWithLines(address, written, options, host);
        obstacles = reading.obstacles;
        return reading.fields;
      },
    });
    show(address, result, { file: stackHost.file, text, obstacles }, host);
    return 0;
  } finally {
    await pve.close();
  }
}

/** What the file says of the VM once the printed lines stand in it, or what is still in the way. */
async function readWithLines(
  address: Address,
  written: ImportResult['found']['written'],
  options: ImportOptions,
  host: CommandHost,
): Promise<{ readonly fields?: VmFields; readonly obstacles: readonly string[] }> {
  const edit = (text: string, file: string) => withLines(text, file, address, written);
  const { stack, diagnostics } = await readStack(options, host, edit);
  const fields = stack?.vms.find((vm) => vm.address === address)?.fields;
  if (fields) return { fields, obstacles: [] };
  // Positions in a text that nobody has written yet would lead astray.
  const errors = diagnostics.filter(({ severity }) => severity === 'error').map(({ detail }) => detail);
  return { obstacles: errors.length > 0 ? errors : [`The file does not make ${address}: let its group have it.`] };
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
    hint: advice`Ids are whole numbers from 100; ${command('import', 'vm.web', 401)}`,
  });
}

function show(
  address: Address,
  result: ImportResult,
  { file, text, obstacles }: { readonly file: string; readonly text: string; readonly obstacles: readonly string[] },
  host: CommandHost,
): void {
  const { vm, found, inFile, differences, remarks } = result;
  const { terminal } = host;
  for (const remark of remarks) terminal.log('warn', `${address}: ${remark}`);
  if (host.json) {
    terminal.result(
      JSON.stringify({ address, vm, fields: found.written, leftOut: found.leftOut, inFile, differences, remarks }),
    );
    return;
  }
  terminal.success(`${address} is now VM ${vm.vmid} (${vm.name}) on ${vm.node}; only its ownership line was written.`);
  for (const each of found.leftOut) terminal.log('warn', `Not in the lines below: ${each}`);
  for (const line of stackLines(address, found.written, text)) terminal.result(line);
  if (!inFile && obstacles.length > 0) {
    terminal.log('warn', `${file} does not mention ${address} yet, and with these lines alone it is not valid:`);
    for (const obstacle of obstacles) terminal.log('warn', obstacle);
    terminal.log('info', 'Put the lines there, complete them, then: proxwright validate');
  } else if (!inFile) {
    terminal.log('info', `${file} does not mention ${address} yet: put these lines there, and the plan is empty.`);
  } else if (differences.length === 0) {
    terminal.log('info', `What ${file} says of it is true already: the plan is empty.`);
  } else {
    terminal.log('warn', `${file} says something else about it, which the next apply would change:`);
    for (const line of renderDifferences(differences, false, paintFor(host.stdout))) terminal.result(line);
  }
}
