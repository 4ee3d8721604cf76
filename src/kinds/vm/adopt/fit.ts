/**
 * Makes the file match the adopted VMs: reads it like a user's file, compares every VM in it with the cluster, and
 * writes each difference for that VM alone.
 */
import { type Address, toAddress } from '../../../base/address.ts';
import { type Diagnostic, formatDiagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, command } from '../../../base/hint.ts';
import type { ResolvedStack } from '../../stack.ts';
import type { VmFields } from '../fields/index.ts';
import { hasBelow } from './shared-values.ts';
import { type AdoptedText, type Place, printed, setOwn } from './stack-text.ts';

export interface FitInput {
  readonly adopted: AdoptedText;
  readonly file: string;
  readonly resolve: (text: string) => Promise<Reading>;
  /** Paths of fields that differ from the VM. */
  readonly untruePaths: (place: Place, fields: VmFields) => readonly string[];
}

interface Reading {
  readonly stack?: ResolvedStack;
  readonly diagnostics: readonly Diagnostic[];
}

export interface Fitted {
  readonly text: string;
  readonly stack: ResolvedStack;
  /** Fields that no file can express; the next plan shows them. */
  readonly unfit: ReadonlyMap<Address, readonly string[]>;
}

/** Each round writes at least one more value, and defaults or a group can get only a few wrong. */
const ROUNDS = 12;

export async function fitText({ adopted, file, resolve, untruePaths }: FitInput): Promise<Fitted> {
  for (let round = 0; ; round++) {
    const text = printed(adopted, file);
    const { stack, diagnostics } = await resolve(text);
    if (!stack) throw unreadable(adopted, file, diagnostics);
    const unfit = new Map<Address, readonly string[]>();
    let isChanged = false;
    const declared = new Map(stack.vms.map((vm) => [vm.address, vm.fields]));
    for (const place of adopted.places) {
      const fields = declared.get(place.address);
      const paths = fields ? untruePaths(place, fields) : [];
      for (const path of paths) isChanged = corrected(adopted, place, path) || isChanged;
      if (paths.length > 0) unfit.set(place.address, paths);
    }
    if (!isChanged || round === ROUNDS) return { text, stack, unfit };
  }
}

/** Whether there was something to correct. */
function corrected(adopted: AdoptedText, place: Place, path: string): boolean {
  const { leaves } = place.vm;
  const branch = leaves.has(path) ? path : [...leaves.keys()].find((each) => path.startsWith(`${each}.`));
  const value = branch === undefined ? null : leaves.get(branch);
  const at = [...place.path, ...(branch ?? path).split('.')];
  // A branch that the VM has in part is corrected part by part.
  if (branch === undefined && hasBelow(leaves, path)) return false;
  if (adopted.document.hasIn(at) && JSON.stringify(adopted.document.getIn(at)) === JSON.stringify(value)) return false;
  setOwn(adopted, place, branch ?? path, value);
  return true;
}

/** The file would not be valid with these VMs; `problems` names them by address. */
export class UnfitVms extends Error {
  readonly problems: ReadonlyMap<Address, string>;

  constructor(problems: ReadonlyMap<Address, string>) {
    super('some VMs do not fit into one stack');
    this.problems = problems;
  }
}

function unreadable({ places }: AdoptedText, file: string, diagnostics: readonly Diagnostic[]): Error {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const ours = new Set(places.map(({ address }) => address));
  const problems = errors.flatMap(({ where, detail }): [Address, string][] => {
    const address = toAddress(where?.address ?? '');
    return address && ours.has(address) ? [[address, detail]] : [];
  });
  if (problems.length > 0) return new UnfitVms(new Map(problems));
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: { file },
    detail: `With these VMs the file would not be valid. Nothing was written.\n${errors.slice(0, 10).map(formatDiagnostic).join('\n')}`,
    hint: advice`Choose fewer VMs, or write the file by hand and take the VMs over one by one: ${command('import', 'ADDRESS', 'ID')}`,
  });
}
