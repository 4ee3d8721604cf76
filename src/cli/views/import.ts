/** What `import` adopted, the stack lines for it, and how they relate to the stack file. */
import type { Address } from '../../base/address.ts';
import type { ImportResult } from '../../kinds/existing.ts';
import type { Terminal } from '../terminal.ts';
import { renderDifferences } from './plan/plan.ts';
import { chooseView, type HumanScreen, type ViewDeps } from './view.ts';

export interface ImportedVm {
  readonly address: Address;
  readonly result: ImportResult;
  readonly file: string;
  /** The stack lines, ready to paste. */
  readonly lines: readonly string[];
  /** What else the file needs to be valid with these lines. */
  readonly obstacles: readonly string[];
}

export interface ImportView {
  imported(vm: ImportedVm): void;
}

export function importView(deps: ViewDeps): ImportView {
  return chooseView<ImportView>(deps, {
    human: (screen) => ({ imported: (vm) => showImported(vm, screen) }),
    json: ({ terminal, print }) => ({
      imported: ({ address, result }) => {
        const { vm, found, inFile, differences, remarks } = result;
        warn(address, remarks, terminal);
        print({ address, vm, fields: found.written, leftOut: found.leftOut, inFile, differences, remarks });
      },
    }),
  });
}

function warn(address: Address, remarks: readonly string[], terminal: Terminal): void {
  for (const remark of remarks) terminal.log('warn', `${address}: ${remark}`);
}

function showImported({ address, result, file, lines, obstacles }: ImportedVm, screen: HumanScreen): void {
  const { terminal, print, paint } = screen;
  const { vm, found, inFile, differences, remarks } = result;
  warn(address, remarks, terminal);
  terminal.success(
    `Imported VM ${vm.vmid} (${vm.name}) on ${vm.node} as ${address}. Only its ownership line was written.`,
  );
  for (const each of found.leftOut) terminal.log('warn', `Not in the lines below: ${each}`);
  print(lines);
  if (!inFile && obstacles.length > 0) {
    terminal.log('warn', `${file} does not contain ${address} yet, and these lines alone do not make it valid:`);
    for (const obstacle of obstacles) terminal.log('warn', obstacle);
    terminal.log('info', 'Add the lines, complete them, then run proxwright validate.');
  } else if (!inFile) {
    terminal.log('info', `${file} does not contain ${address} yet. Add these lines, and the plan is empty.`);
  } else if (differences.length === 0) {
    terminal.log('info', `${file} already describes it: the plan is empty.`);
  } else {
    terminal.log('warn', `${file} describes it differently, and the next apply would change it:`);
    print(renderDifferences(differences, false, paint));
  }
}
