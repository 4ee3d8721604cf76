/** Records adopted VMs in the state, with their identity and what the file says of them. Writes nothing to any VM. */
import type { Address } from '../../../base/address.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { type EditDeps, editState } from '../../../engine/state-edit.ts';
import type { Observed } from '../../../kinds/observed.ts';
import type { ResolvedStack } from '../../../kinds/stack.ts';
import type { Adoptable } from '../../../kinds/vm/adopt/survey.ts';
import { knownAddresses } from '../../../kinds/vm/take-over/known-addresses.ts';
import { takeOver } from '../../../kinds/vm/take-over/take-over.ts';
import type { Pve } from '../../../pve/client.ts';

export interface RecordInput extends Omit<EditDeps, 'stackName'> {
  readonly pve: Pve;
  readonly signal: AbortSignal;
  readonly stack: ResolvedStack;
  readonly vms: readonly { readonly address: Address; readonly observed: Adoptable }[];
  readonly ha: NonNullable<Observed['ha']>;
}

/** Returns what could not be determined, for the user. */
export async function recordAdopted(input: RecordInput): Promise<string[]> {
  const { stack, vms, ha } = input;
  const inFile = new Map(stack.vms.map((vm) => [vm.address, vm]));
  const subjects = vms.map(({ address, observed }) => {
    const declared = inFile.get(address);
    return { address, observed, fields: declared?.fields, sensitive: declared?.sensitive };
  });
  const addresses = await knownAddresses(input, subjects);
  return editState({ ...input, stackName: stack.name }, async (memory) => {
    for (const { address, observed } of subjects) {
      const known = memory.state.vms[address];
      if (known && known.vmid !== observed.vmid) {
        throw new ProxwrightError({
          code: 'VMID_TAKEN',
          where: { address },
          detail: `${address} is already VM ${known.vmid} (${known.name}). Nothing was recorded.`,
        });
      }
    }
    for (const subject of subjects) {
      const { address } = subject;
      const { vm } = takeOver({
        ...subject,
        stackName: stack.name,
        lineage: memory.state.lineage,
        addresses: addresses.get(address)?.addresses ?? {},
        ha,
      });
      await memory.recordEdit(`${address}/adopt`, address, [{ event: 'learned', patch: { address, vm } }]);
    }
    return subjects.flatMap(({ address }) => {
      const unknown = addresses.get(address)?.unknown;
      return unknown === undefined
        ? []
        : [`${address}: no address is known on ${unknown}. The outputs contain null for it.`];
    });
  });
}
