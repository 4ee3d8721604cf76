/** The steps of a VM: what each action is given, as plain JSON data, and how a step is put together. */
import type { Address } from '../../base/address.ts';
import type { Stage, Step } from '../step.ts';
import type { SeedInput, UnseedInput } from './actions/seed.ts';
import type { HaFields } from './fields/ha.ts';
import type { VmFields } from './fields/index.ts';
import type { PackedEntry } from './packed.ts';
import type { ReadyChecks } from './ready/checks.ts';

/** Which id a new VM may have: this one, one of these, or (neither given) whatever is free. */
export interface IdChoice {
  readonly vmid?: number;
  readonly vmids?: readonly number[];
}

interface Making extends IdChoice {
  /** Of a template: fingerprint of what it is made from, so that a half-built one is known again. */
  readonly recipe?: string;
}

export interface CloneInput extends Making {
  readonly source: {
    readonly node: string;
    readonly vmid: number;
    /** A template that the same plan makes: what its id is, is known once it is there. */
    readonly address?: Address;
  };
  readonly name: string;
  readonly mode: 'full' | 'linked';
  readonly storage?: string;
  /** Where the copy ends up without `storage`: the storages of the source's disks, for the queues. */
  readonly storages?: readonly string[];
  readonly format?: 'raw' | 'qcow2' | 'vmdk';
  readonly pool?: string;
  /** Another node than the source's; needs shared storage. */
  readonly target?: string;
  /** The source's own notes: a clone keeps them, with our line below. */
  readonly notes?: string;
}

export interface CreateInput extends Making {
  readonly node: string;
  readonly name: string;
  readonly pool?: string;
  readonly desired: readonly PackedEntry[];
}

export interface ConfigureInput {
  readonly desired: readonly PackedEntry[];
  /** Keys whose value cannot be read back and has to be sent this time. */
  readonly secrets?: readonly string[];
}

export interface ResizeInput {
  readonly slot: string;
  readonly sizeBytes: number;
}

export interface VerifyInput {
  readonly desired: readonly PackedEntry[];
  /** Field path → value: what the state remembers as applied once everything has been found so. */
  readonly applied: Readonly<Record<string, unknown>>;
  /** The last of a template: it counts as finished with that. */
  readonly finishes?: true;
}

export interface StartInput {
  /** The VM was there before this run: a start that an earlier one lost sight of may still run. */
  readonly mayBeUnderWay?: true;
}

export interface StopInput {
  readonly how: 'shutdown' | 'stop';
  /** The file asks for it: once stopped, that is recorded as applied. */
  readonly asDeclared?: true;
}

export interface ReserveInput extends IdChoice {
  readonly node: string;
  readonly name: string;
}

export interface TakeFromInput {
  /** The address it had before. */
  readonly from: Address;
}

export interface ReadyInput {
  readonly checks: ReadyChecks;
  /** As the file has them: which one the VM is talked to through, and the addresses to expect. */
  readonly nics?: VmFields['nics'];
}

export interface RestartInput {
  /** What waits for the restart, for the log. */
  readonly reasons: readonly string[];
}

export interface DestroyInput {
  /** What to do with a VM that runs. */
  readonly stop: 'shutdown' | 'stop' | 'refuse';
  /** Linked clones may rest on its disks: then it stays, with a warning. */
  readonly mayStayInUse?: true;
}

export interface MigrateInput {
  readonly target: string;
}

export interface HaInput {
  /** As the file has it; false takes the VM out of the manager's hands. */
  readonly ha: HaFields;
}

export interface VmInputs {
  readonly 'vm.take-from': TakeFromInput;
  readonly 'vm.forget': Readonly<Record<string, never>>;
  readonly 'vm.reserve': ReserveInput;
  readonly 'vm.clone': CloneInput;
  readonly 'vm.create': CreateInput;
  readonly 'vm.configure': ConfigureInput;
  readonly 'vm.resize': ResizeInput;
  readonly 'vm.verify': VerifyInput;
  readonly 'vm.start': StartInput;
  readonly 'vm.stop': StopInput;
  readonly 'vm.restart': RestartInput;
  readonly 'vm.destroy': DestroyInput;
  readonly 'vm.migrate': MigrateInput;
  readonly 'vm.ha': HaInput;
  readonly 'vm.seed': SeedInput;
  readonly 'vm.unseed': UnseedInput;
  readonly 'vm.ready': ReadyInput;
}

export type VmActionName = keyof VmInputs;

const STAGE_OF: Readonly<Record<VmActionName, Stage>> = {
  'vm.take-from': 'prepare',
  'vm.forget': 'prepare',
  'vm.reserve': 'prepare',
  'vm.migrate': 'prepare',
  'vm.clone': 'create',
  'vm.create': 'create',
  'vm.seed': 'configure',
  'vm.configure': 'configure',
  'vm.resize': 'configure',
  'vm.verify': 'configure',
  // Behind the read that shows no drive with it.
  'vm.unseed': 'configure',
  'vm.start': 'start',
  'vm.stop': 'start',
  'vm.restart': 'start',
  // Behind the switch: the manager is handed a VM that already is what it should be.
  'vm.ha': 'start',
  'vm.ready': 'ready',
  'vm.destroy': 'remove',
};

/** `vm.web/clone`; several steps of one kind are told apart by `part`: `vm.web/resize/scsi0`. */
export function vmStep<Name extends VmActionName>(
  address: Address,
  action: Name,
  input: VmInputs[Name],
  options: { readonly needs?: readonly string[]; readonly part?: string } = {},
): Step<Name, VmInputs[Name]> {
  const verb = action.slice('vm.'.length);
  const id = [address, verb, ...(options.part === undefined ? [] : [options.part])].join('/');
  return { id, stage: STAGE_OF[action], address, action, input, needs: options.needs ?? [] };
}
