/**
 * Takes over a VM that exists already: its identity is recorded, its notes get the ownership line, and nothing else is
 * touched. What the file says and is true of it counts as applied, so the next plan shows only what differs.
 */
import type { Address } from '../../base/address.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command, type Hint, setting } from '../../base/hint.ts';
import type { Logger } from '../../base/log.ts';
import type { Observed } from '../../kinds/observed.ts';
import { readPciMappings } from '../../kinds/pci-mapping/observe.ts';
import type { StackState } from '../../kinds/recorded.ts';
import type { ResolvedStack, ResolvedVm } from '../../kinds/stack.ts';
import type { Difference } from '../../kinds/vm/diff/diff.ts';
import type { VmFields } from '../../kinds/vm/fields/index.ts';
import { notOurs, sameVm } from '../../kinds/vm/identity.ts';
import { readHa } from '../../kinds/vm/observe-ha.ts';
import { readVm, type VmObserved } from '../../kinds/vm/observed.ts';
import { findOwnership, ownershipCounts, ownershipLines } from '../../kinds/vm/ownership.ts';
import type { VmRecord } from '../../kinds/vm/record.ts';
import type { Pve } from '../../pve/client.ts';
import { isNotFound } from '../../pve/errors/kinds.ts';
import type { VmPatch } from '../../state/events.ts';
import type { RunMemory } from '../run-memory.ts';
import { type EditDoors, editState } from '../state-edit.ts';
import { fieldsOfVm, fittedLines, type ImportedFields, type ReadLines } from './fields.ts';
import { knownAddresses } from './known-addresses.ts';
import { type TakeOverInput, takeOver, writeOwnershipNote } from './take-over.ts';

export interface ImportInput extends Omit<EditDoors, 'stackName'> {
  readonly pve: Pve;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly stack: ResolvedStack;
  readonly address: Address;
  readonly vmid: number;
  /** The user says that the VM under this id is the one of this address, whatever its uuid is now. */
  readonly acceptIdentity?: boolean;
  /** How the user's file reads, once it has the lines for the VM; they are taken as they are unless given. */
  readonly readLines?: ReadLines;
}

export interface ImportResult {
  readonly vm: VmRecord;
  /** The stack lines that describe the VM as it is. */
  readonly found: ImportedFields;
  /** Whether the file mentions the address. */
  readonly inFile: boolean;
  /** What the file says and the VM is not: the next plan shows it. */
  readonly differences: readonly Difference[];
  /** What the file says about place and power and is not so, and what could not be learned; no plan shows it. */
  readonly remarks: readonly string[];
}

type Identified = VmObserved & { readonly uuid: string };

export async function importVm(input: ImportInput): Promise<ImportResult> {
  const { stack, address } = input;
  const inFile = stack.vms.find((vm) => vm.address === address);
  return editState({ ...input, stackName: stack.name }, async (memory) => {
    refuseKnown(input, memory.state);
    const observed = await readExisting(input);
    refuseForeign(input, memory.state, observed);
    const around = await readAround(input, inFile);
    const { found, fields } = await describe(input, observed, around, inFile?.fields);
    const addresses = (await knownAddresses(input, [{ address, fields, observed }])).get(address);
    const taken = takeOver({
      ...around,
      stackName: stack.name,
      address,
      fields,
      observed,
      addresses: addresses?.addresses ?? {},
    });
    const before = memory.state.vms[address];
    const record = (part: string, vm: VmPatch['vm']) =>
      memory.recordEdit(`${address}/import/${part}`, address, [{ event: 'learned', patch: { address, vm } }]);
    await record('begin', { ...taken.vm, phase: 'incomplete' });
    try {
      const line = await writeOwnership(input, memory, taken.desired, observed);
      const vm = { ...taken.vm, lastApplied: { ...taken.vm.lastApplied, ...line } };
      await record('complete', vm);
      const differences = taken.differences.filter(({ path }) => path !== 'ownership');
      const remarks = remarksOn(fields, observed, around.ha, addresses?.unknown);
      return { vm, found, inFile: inFile !== undefined, differences, remarks };
    } catch (error) {
      // Not taken over after all: the memory is what it was.
      await record('undo', before ?? null);
      throw error;
    }
  });
}

/** What the cluster knows of the VM beside its configuration; each is one question. */
type Around = Required<Pick<TakeOverInput, 'pciMappings'>> & { readonly ha: NonNullable<Observed['ha']> };

async function readAround({ pve, signal }: ImportInput, inFile: ResolvedVm | undefined): Promise<Around> {
  const [ha, pciMappings] = await Promise.all([
    readHa(pve, signal),
    readPciMappings(pve, inFile ? [inFile] : [], signal),
  ]);
  return { ha, pciMappings };
}

/** What the file says of the VM already, or will say with the lines that are printed for it. */
async function describe(
  { stack, address, readLines }: ImportInput,
  observed: Identified,
  around: Around,
  inFile: VmFields | undefined,
): Promise<{ readonly found: ImportedFields; readonly fields: VmFields }> {
  const found = fieldsOfVm(observed, around.ha.ok ? around.ha.value.get(observed.vmid) : undefined);
  if (inFile) return { found, fields: inFile };
  if (!readLines) return { found, fields: found.fields };
  const untruePaths = (fields: VmFields) =>
    takeOver({ ...around, stackName: stack.name, address, fields, observed, addresses: {} })
      .differences.map(({ path }) => path)
      .filter((path) => path !== 'ownership');
  const { written, fields } = await fittedLines(found, readLines, untruePaths);
  return { found: { ...found, written }, fields };
}

/** Place and power act when a VM is made or when the file changes them; taking it over is neither. */
function remarksOn(
  { node, power }: VmFields,
  observed: VmObserved,
  ha: Around['ha'],
  unknown: string | undefined,
): string[] {
  const actual = observed.running ? 'running' : 'stopped';
  return [
    ...(node === observed.node
      ? []
      : [
          `The file places it on ${node}; it is on ${observed.node} and stays there. Write node: ${observed.node}, or move it yourself.`,
        ]),
    ...(power === actual
      ? []
      : [
          `The file says power: ${power}; it is ${actual} and stays so. Write power: ${actual}, or ${observed.running ? 'stop' : 'start'} it yourself.`,
        ]),
    ...(ha.ok ? [] : [`Whether it is an HA resource was not checked: the token needs ${ha.needs}.`]),
    ...(unknown === undefined ? [] : [`No address is known on ${unknown}. The outputs hold null for it.`]),
  ];
}

/** An address has one VM, and a VM one address. */
function refuseKnown({ address, vmid, acceptIdentity }: ImportInput, state: StackState): void {
  const known = state.vms[address];
  if (known && known.vmid !== vmid && !acceptIdentity) {
    throw new ProxwrightError({
      code: 'VMID_TAKEN',
      where: { address },
      detail: `${address} is VM ${known.vmid} (${known.name}) already.`,
      hint: advice`If VM ${vmid} takes its place, forget the old one first: ${command('state forget', address)}`,
    });
  }
  const other = Object.entries(state.vms).find(([each, vm]) => each !== address && vm.vmid === vmid);
  if (!other) return;
  throw new ProxwrightError({
    code: 'NOT_OURS',
    where: { address },
    detail: `VM ${vmid} belongs to ${other[0]} of this stack.`,
    hint: advice`To give it another address: ${command('state mv', other[0], address)}`,
  });
}

async function readExisting({ pve, vmid, address, signal }: ImportInput): Promise<Identified> {
  await pve.authenticate({ signal });
  const guests = await pve.cluster.resources({ type: 'vm' }, { signal });
  const row = guests.find((guest) => guest.vmid === vmid);
  if (row && row.type !== 'qemu') {
    throw refused(
      address,
      `Guest ${vmid} is a container (${row.type}), not a VM.`,
      'Only VMs are managed; give the id of one.',
    );
  }
  const observed = row?.node === undefined ? undefined : await readIfThere(pve, row.node, vmid, signal);
  if (!observed) {
    throw new ProxwrightError({
      code: 'NOT_FOUND',
      where: { address },
      detail: `There is no VM ${vmid}, or the token may not see it.`,
      hint: `Check the id. The token needs VM.Audit and VM.Config.Options on /vms/${vmid}.`,
    });
  }
  if (observed.template) {
    throw refused(
      address,
      `${vmid} is a template. Templates are cloned, not managed as VMs.`,
      advice`Clone it: ${setting('clone', { template: vmid })}`,
    );
  }
  const { uuid } = observed;
  if (uuid === undefined) {
    throw refused(
      address,
      `VM ${vmid} has no uuid in smbios1, so it could not be recognised.`,
      `On its node: qm set ${vmid} --smbios1 uuid=$(uuidgen). The guest sees it after the next start.`,
    );
  }
  return { ...observed, uuid };
}

async function readIfThere(pve: Pve, node: string, vmid: number, signal: AbortSignal): Promise<VmObserved | undefined> {
  try {
    return await readVm(pve, node, vmid, { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function refused(address: Address, detail: string, hint: Hint | string): ProxwrightError {
  return new ProxwrightError({ code: 'BAD_VALUE', where: { address }, detail, hint });
}

function refuseForeign(input: ImportInput, state: StackState, vm: Identified): void {
  const { address, stack, acceptIdentity } = input;
  const known = state.vms[address];
  if (known?.uuid !== undefined && !sameVm(known, vm) && !acceptIdentity) {
    throw notOurs({ address, recorded: known, observed: vm });
  }
  const owner = findOwnership(vm.current.get('description') ?? '');
  if (!owner || !ownershipCounts(owner, vm)) return;
  if (owner.stack === stack.name && owner.address === address) return;
  throw new ProxwrightError({
    code: 'NOT_OURS',
    where: { address },
    detail: `VM ${vm.vmid} belongs to ${owner.address} of the stack "${owner.stack}", as a line in its notes says.`,
    hint:
      owner.stack === stack.name
        ? advice`Take it in under that address: ${command('state recover')}. Then give it this one: ${command('state mv', owner.address, address)}`
        : advice`Let that stack let go of it: ${command('state forget', owner.address, '--release')}. Or delete that line from the notes.`,
  });
}

/** The one write of an import; not even that where the stack wants no line or it stands there already. */
async function writeOwnership(
  input: ImportInput,
  memory: RunMemory,
  desired: ReturnType<typeof takeOver>['desired'],
  observed: Identified,
): Promise<Record<string, string | null>> {
  const notes = desired.get('description')?.desired;
  if (notes?.kind !== 'notes') return {};
  const standing = ownershipLines(observed.current.get('description') ?? '');
  if (notes.line !== undefined && standing.length === 1 && standing[0] === notes.line) return { ownership: notes.line };
  if (notes.line === undefined && standing.length === 0) return { ownership: null };
  await writeOwnershipNote(input, memory, input.address, notes.line, observed);
  return { ownership: notes.line ?? null };
}
