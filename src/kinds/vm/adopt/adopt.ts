/**
 * Takes over running VMs: chooses them, describes them in a stack file, and makes sure that the file matches each of
 * them. Reads only; the command records them.
 */
import { setMaxListeners } from 'node:events';
import { type Address, parseAddress, toAddress } from '../../../base/address.ts';
import { type Diagnostic, formatDiagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, command } from '../../../base/hint.ts';
import type { Pve } from '../../../pve/client.ts';
import type { Observed } from '../../observed.ts';
import type { StackState } from '../../recorded.ts';
import type { ResolvedStack } from '../../stack.ts';
import type { VmFields } from '../fields/index.ts';
import { readHa } from '../observe/ha.ts';
import { NODE_NOT_CHOSEN } from '../placement/candidates.ts';
import { fieldsOfVm } from '../take-over/fields.ts';
import { takeOver } from '../take-over/take-over.ts';
import { type FoundVm, foundVm } from './families.ts';
import { knownTemplates } from './origin.ts';
import { hasBelow } from './shared-values.ts';
import { type AdoptedText, extendedText, newStackText, type Place, printed, setOwn } from './stack-text.ts';
import { type Adoptable, type Choice, type Guest, type Survey, survey } from './survey.ts';

export interface AdoptInput {
  readonly pve: Pve;
  readonly signal: AbortSignal;
  readonly guests: readonly Guest[];
  readonly choice: Choice;
  readonly state: StackState;
  /** Of the existing file, or of an empty one if there is none. */
  readonly stack: ResolvedStack;
  readonly file: string;
  /** Of an existing file. */
  readonly text?: string | undefined;
  /** Whether the VMs get an ownership line. */
  readonly claims: boolean;
  readonly resolve: FitInput['resolve'];
}

export interface Adoption extends Fitted {
  readonly survey: Survey;
  readonly ha: NonNullable<Observed['ha']>;
  readonly places: readonly Place[];
}

/** Only the survey if there is nothing to adopt. */
export async function planAdoption(input: AdoptInput): Promise<Adoption | Survey> {
  const { pve, signal, guests, choice, state, stack } = input;
  // Many concurrent reads listen to one signal; that is not a leak.
  setMaxListeners(0, signal);
  let found = await survey({ pve, signal, state, stackName: stack.name }, guests, choice);
  const ha = await readHa(pve, signal);
  const inFull = new Set<number>();
  while (found.taken.length > 0) {
    const vms = foundVms(found, ha).map((vm) => (inFull.has(vm.vmid) ? { ...vm, inherited: new Set<string>() } : vm));
    const adopted = composed(input, vms);
    try {
      return { ...(await fitted(input, found, ha, adopted)), survey: found, ha, places: adopted.places };
    } catch (error) {
      if (!(error instanceof UnfitVms)) throw error;
      const unfit = adopted.places.filter(({ address }) => error.problems.has(address)).map(({ vm }) => vm);
      // A rule may need a value that only the template has: then every value is written.
      const shortened = unfit.filter(({ inherited }) => inherited.size > 0);
      for (const { vmid } of shortened) inFull.add(vmid);
      if (shortened.length === 0) found = without(found, adopted, error);
    }
  }
  return found;
}

/** A cluster may hold what one stack cannot, such as two VMs with the same address. The later one stays as it is. */
function without(found: Survey, { places }: AdoptedText, { problems }: UnfitVms): Survey {
  const unfit = new Map(
    places.flatMap(({ address, vm }) => {
      const why = problems.get(address);
      return why === undefined ? [] : [[vm.vmid, { vmid: vm.vmid, name: vm.name, node: vm.node, why }] as const];
    }),
  );
  return {
    ...found,
    taken: found.taken.filter(({ vmid }) => !unfit.has(vmid)),
    left: [...found.left, ...unfit.values()],
  };
}

function fitted(
  { stack, file, resolve, claims }: AdoptInput,
  { taken }: Survey,
  ha: Adoption['ha'],
  adopted: AdoptedText,
): Promise<Fitted> {
  const observed = new Map(taken.map((vm) => [vm.vmid, vm]));
  return fitText({
    adopted,
    file,
    resolve,
    untruePaths: ({ vm, address }, fields) => {
      const real = observed.get(vm.vmid);
      // An ownership line would be a change, unless the user asks for it.
      return real
        ? untruePaths({ stackName: stack.name, address, ha }, real, fields).filter(
            (path) => !claims || path !== 'ownership',
          )
        : [];
    },
  });
}

/** The chosen VMs as a file describes them. */
export function foundVms({ taken, guests, templates }: Survey, ha: Adoption['ha']): FoundVm[] {
  const known = knownTemplates(templates);
  const pools = new Map(guests.map(({ vmid, pool }) => [vmid, pool]));
  return taken.map((vm) =>
    foundVm(vm, fieldsOfVm(vm, ha.ok ? ha.value.get(vm.vmid) : undefined), {
      templates: known,
      pool: pools.get(vm.vmid),
    }),
  );
}

function composed({ stack, state, text, claims }: AdoptInput, vms: readonly FoundVm[]): AdoptedText {
  if (text === undefined) {
    return newStackText(vms, { stackName: stack.name, claims, groupLimit: stack.rollout.limits.groupSize });
  }
  const declared = stack.vms
    .filter(({ address }) => !(address in state.vms))
    .map(({ address, group, number, fields }) => {
      const isMember = parseAddress(address)?.key !== undefined;
      return [fields.name, { address, group, ...(isMember && { number }) }] as const;
    });
  return extendedText(text, stack.name, claims ? vms : vms.map(unclaimed), new Map(declared));
}

function unclaimed(vm: FoundVm): FoundVm {
  return { ...vm, leaves: new Map([...vm.leaves, ['ownership', 'off']]) };
}

/** Fields that would make the next plan non-empty. */
function untruePaths(
  context: { readonly stackName: string; readonly address: Address; readonly ha: Adoption['ha'] },
  observed: Adoptable,
  fields: VmFields,
): string[] {
  const { differences } = takeOver({ ...context, lineage: undefined, fields, observed, addresses: {} });
  const isElsewhere = fields.node !== NODE_NOT_CHOSEN && fields.node !== observed.node;
  const isOtherPower = fields.power !== (observed.running ? 'running' : 'stopped');
  return [...differences.map(({ path }) => path), ...(isElsewhere ? ['node'] : []), ...(isOtherPower ? ['power'] : [])];
}

interface FitInput {
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

interface Fitted {
  readonly text: string;
  readonly stack: ResolvedStack;
  /** Fields that no file can express; the next plan shows them. */
  readonly unfit: ReadonlyMap<Address, readonly string[]>;
}

/** Each round writes at least one more value, and defaults or a group can get only a few wrong. */
const ROUNDS = 12;

/** Reads the text like a user's file, compares every VM in it with the cluster, and writes each difference for that VM alone. */
async function fitText({ adopted, file, resolve, untruePaths }: FitInput): Promise<Fitted> {
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
class UnfitVms extends Error {
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
