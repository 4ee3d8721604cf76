/** `proxwright import`: adopts an existing VM, and prints the stack lines that describe it. */
import { resolve } from 'node:path';
import { type Address, toAddress } from '../../../base/address.ts';
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
import { stackLines, withLines } from './imported-lines.ts';

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
