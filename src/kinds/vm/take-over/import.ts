/**
 * Imports an existing VM: what is recorded of it, and the ownership line for its notes. Fields of the file that match the VM
 * are recorded as applied, so the next plan shows only the differences. Reads only.
 */

import type { Address } from '../../../base/address.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, command, type Hint, setting } from '../../../base/hint.ts';
import { setUuid } from '../../../base/text/node-command.ts';
import type { Pve } from '../../../pve/client.ts';
import { isNotFound } from '../../../pve/errors/kinds.ts';
import type { Lines, ReadLines, TakenOver, TakeOverContext } from '../../existing.ts';
import type { Observed } from '../../observed.ts';
import { readPciMappings } from '../../pci-mapping/observe.ts';
import { foreign } from '../../safety/foreign.ts';
import type { VmFields } from '../fields/index.ts';
import { notOurs, sameVm } from '../identity.ts';
import { halfMadeRefusal } from '../lock.ts';
import { readHa } from '../observe/ha.ts';
import { readVm, type VmObserved } from '../observed.ts';
import { findOwnership, ownershipCounts, ownershipLines, withoutLineage } from '../ownership.ts';
import type { ResolvedVm } from '../stack.ts';
import { fieldsOfVm, fittedLines, type ImportedFields } from './fields.ts';
import { knownAddresses } from './known-addresses.ts';
import { ownershipStep, type TakeOverInput, takeOver } from './take-over.ts';

type Identified = VmObserved & { readonly uuid: string };

export async function takeOverVm(context: TakeOverContext): Promise<TakenOver<VmObserved>> {
  const { stack, address, state } = context;
  const { lineage } = state;
  const inFile = stack.vms.find((vm) => vm.address === address);
  refuseKnown(context);
  const observed = await readExisting(context);
  refuseForeign(context, observed);
  const cluster = await readCluster(context, inFile);
  const { found, fields } = await describe(context, lineage, observed, cluster, inFile?.fields);
  const addresses = (await knownAddresses(context, [{ address, fields, observed }])).get(address);
  const taken = takeOver({
    ...cluster,
    stackName: stack.name,
    lineage,
    address,
    fields,
    sensitive: inFile?.sensitive,
    observed,
    addresses: addresses?.addresses ?? {},
  });
  const ownership = ownershipOf(taken.desired, observed);
  const differences = taken.differences.filter(({ path }) => path !== 'ownership');
  const remarks = remarksOn(fields, observed, cluster.ha, addresses?.unknown);
  const vm = { ...taken.vm, lastApplied: { ...taken.vm.lastApplied, ...ownership.applied } };
  return {
    result: { vm, found, inFile: inFile !== undefined, differences, remarks },
    begun: { ...taken.vm, phase: 'incomplete' },
    ...(ownership.isToWrite && { mark: { step: ownershipStep(address, ownership.line), last: observed } }),
  };
}

/** What the cluster knows about the VM beyond its configuration; one request each. */
type ClusterFacts = Required<Pick<TakeOverInput, 'pciMappings'>> & { readonly ha: NonNullable<Observed['ha']> };

async function readCluster({ pve, signal }: TakeOverContext, inFile: ResolvedVm | undefined): Promise<ClusterFacts> {
  const [ha, pciMappings] = await Promise.all([
    readHa(pve, signal),
    readPciMappings(pve, inFile ? [inFile] : [], signal),
  ]);
  return { ha, pciMappings };
}

/** The fields in the file or, if the file does not contain the VM, those of the generated lines. */
async function describe(
  { stack, address, readLines }: TakeOverContext,
  lineage: string | undefined,
  observed: Identified,
  cluster: ClusterFacts,
  inFile: VmFields | undefined,
): Promise<{ readonly found: ImportedFields; readonly fields: VmFields }> {
  const found = fieldsOfVm(observed, cluster.ha.ok ? cluster.ha.value.get(observed.vmid) : undefined);
  if (inFile) return { found, fields: inFile };
  if (!readLines) return { found, fields: found.fields };
  const untruePaths = (fields: VmFields) =>
    takeOver({ ...cluster, stackName: stack.name, lineage, address, fields, observed, addresses: {} })
      .differences.map(({ path }) => path)
      .filter((path) => path !== 'ownership');
  const { written, fields } = await fittedLines(found, (lines) => fieldsWith(lines, readLines, address), untruePaths);
  return { found: { ...found, written }, fields };
}

/** The fields of the VM with these lines added to the file; undefined if the file would be invalid. */
async function fieldsWith(lines: Lines, readLines: ReadLines, address: Address): Promise<VmFields | undefined> {
  return (await readLines(lines))?.vms.find((vm) => vm.address === address)?.fields;
}

/** An import does not move, start or stop the VM: node and power apply when a VM is created or the file changes. */
function remarksOn(
  { node, power }: VmFields,
  observed: VmObserved,
  ha: ClusterFacts['ha'],
  unknown: string | undefined,
): string[] {
  const actual = observed.running ? 'running' : 'stopped';
  return [
    ...(node === observed.node
      ? []
      : [
          `The VM is on ${observed.node} and stays there, but the file says ${node}. Set node: ${observed.node}, or migrate the VM.`,
        ]),
    ...(power === actual
      ? []
      : [
          `The VM stays ${actual}, but the file says power: ${power}. Set power: ${actual}, or ${observed.running ? 'stop' : 'start'} the VM.`,
        ]),
    ...(ha.ok ? [] : [`Whether the VM is an HA resource was not checked: the token needs ${ha.needs}.`]),
    ...(unknown === undefined ? [] : [`No address is known on ${unknown}. The outputs contain null for it.`]),
  ];
}

/** An address has one VM, and a VM has one address. */
function refuseKnown({ address, vmid, acceptIdentity, state }: TakeOverContext): void {
  const known = state.vms[address];
  if (known && known.vmid !== vmid && !acceptIdentity) {
    throw new ProxwrightError({
      code: 'VMID_TAKEN',
      where: { address },
      detail: `${address} is already VM ${known.vmid} (${known.name}).`,
      hint: advice`If VM ${vmid} replaces it, forget the old one first: ${command('state forget', address)}`,
    });
  }
  const other = Object.entries(state.vms).find(([each, vm]) => each !== address && vm.vmid === vmid);
  if (!other) return;
  throw new ProxwrightError({
    code: 'VMID_TAKEN',
    where: { address },
    detail: `VM ${vmid} belongs to ${other[0]} of this stack.`,
    hint: advice`Move it to the new address: ${command('state mv', other[0], address)}`,
  });
}

async function readExisting({ pve, vmid, address, signal }: TakeOverContext): Promise<Identified> {
  await pve.authenticate({ signal });
  const guests = await pve.cluster.resources({ type: 'vm' }, { signal });
  const row = guests.find((guest) => guest.vmid === vmid);
  if (row && row.type !== 'qemu') {
    throw refused(
      address,
      `Guest ${vmid} is a container (${row.type}), not a VM.`,
      'Proxwright manages only VMs. Use the id of a VM.',
    );
  }
  const observed = row?.node === undefined ? undefined : await readIfThere(pve, row.node, vmid, signal);
  if (!observed) {
    throw new ProxwrightError({
      code: 'NOT_FOUND',
      where: { address },
      detail: `There is no VM ${vmid}, or the token cannot see it.`,
      hint: `Check the id. The token needs VM.Audit and VM.Config.Options on /vms/${vmid}.`,
    });
  }
  const refusal = await halfMadeRefusal({ pve, signal }, observed, { address });
  if (refusal) throw refusal;
  if (observed.template) {
    throw refused(
      address,
      `${vmid} is a template. You can clone it, but not manage it as a VM.`,
      advice`Clone it: ${setting('clone', { template: vmid })}`,
    );
  }
  const { uuid } = observed;
  if (uuid === undefined) {
    throw refused(
      address,
      `VM ${vmid} has no uuid in smbios1, so Proxwright could not identify it later.`,
      `On its node: ${setUuid(vmid, observed.current.get('smbios1'))}. It takes effect in the guest after the next start.`,
    );
  }
  return { ...observed, uuid };
}

async function readIfThere(
  pve: Pve,
  node: string,
  vmid: number,
  signal: AbortSignal | undefined,
): Promise<VmObserved | undefined> {
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

function refuseForeign({ address, stack, state, acceptIdentity }: TakeOverContext, vm: Identified): void {
  const known = state.vms[address];
  if (known?.uuid !== undefined && !sameVm(known, vm) && !acceptIdentity) {
    throw notOurs({ address, recorded: known, observed: vm });
  }
  const owner = findOwnership(vm.current.get('description') ?? '');
  if (!owner || !ownershipCounts(owner, vm)) return;
  if (owner.stack === stack.name && owner.address === address) return;
  const why = `VM ${vm.vmid} belongs to ${owner.address} of the stack "${owner.stack}", according to the ownership line in its notes.`;
  if (owner.stack !== stack.name) {
    throw foreign({
      where: { address },
      why,
      hint: advice`Release it in that stack: ${command('state forget', owner.address, '--release')}. Or delete the line from the notes.`,
    });
  }
  throw new ProxwrightError({
    code: 'STATE_LOST',
    where: { address },
    detail: why,
    hint: advice`Recover it under that address: ${command('state recover')}. Then move it to this one: ${command('state mv', owner.address, address)}`,
  });
}

/** The line that the notes are to have, and whether they have it already. */
function ownershipOf(desired: ReturnType<typeof takeOver>['desired'], observed: Identified) {
  const notes = desired.get('description')?.desired;
  if (notes?.kind !== 'notes') return { isToWrite: false, applied: {} } as const;
  const { line } = notes;
  const standing = ownershipLines(observed.current.get('description') ?? '');
  const isThere = line === undefined ? standing.length === 0 : standing.length === 1 && standing[0] === line;
  return { line, isToWrite: !isThere, applied: { ownership: line === undefined ? null : withoutLineage(line) } };
}
