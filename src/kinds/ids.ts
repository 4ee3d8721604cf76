/**
 * Which IDs machines get. Proxmox reserves nothing before a clone's task runs, so VMs that are created at the same time
 * would all get the same "next free" ID: a plan chooses (`PlannedIds`), and a run reserves (`IdReservations`). If
 * another client has taken an ID, Proxmox refuses the request, and the run chooses again.
 */
import type { Address } from '../base/address.ts';
import type { Diagnostic } from '../base/diagnostics.ts';
import { ProxwrightError } from '../base/errors.ts';
import { counted } from '../base/values/units.ts';
import { VMID_MAX } from '../pve/index.ts';
import { type Positioned, whereOf } from './fields/positions.ts';
import type { Observed } from './observed.ts';
import type { StackState } from './recorded.ts';

/** IDs reserved within a run. */
export class IdReservations {
  readonly #taken: Set<number>;
  readonly #holders = new Map<number, Address>();

  /** `taken`: ids that were in use when the run started. */
  constructor(taken: Iterable<number> = []) {
    this.#taken = new Set(taken);
  }

  /** False if the id is taken; reserving an id twice for the same address succeeds. */
  reserve(vmid: number, address: Address): boolean {
    const holder = this.#holders.get(vmid);
    if (holder !== undefined) return holder === address;
    if (this.#taken.has(vmid)) return false;
    this.#holders.set(vmid, address);
    return true;
  }

  /** Another client has it. */
  markTaken(vmid: number): void {
    this.#holders.delete(vmid);
    this.#taken.add(vmid);
  }

  holderOf(vmid: number): Address | undefined {
    return this.#holders.get(vmid);
  }
}

/** A resource that has an ID. */
export interface Numbered extends Positioned {
  readonly group: string;
  /** Place in its group, from 1. */
  readonly number: number;
  readonly fields: { readonly vmid?: number | undefined };
  /** IDs it may have if the file sets none, shared by its group: member n prefers the nth. */
  readonly vmids?: readonly number[];
}

export interface PlannedIdsInput {
  readonly machines: readonly Numbered[];
  readonly state: StackState;
  readonly observed: Pick<Observed, 'guests' | 'takenIds' | 'nextId'>;
  /** False: the choice is left to apply. */
  readonly isActive?: boolean;
}

/** The choice of a plan. Also used while the cluster is read, to know which IDs to ask about. Pure. */
export class PlannedIds {
  readonly #input: PlannedIdsInput;
  /** IDs that the file gives to one machine, that the state records, or that were chosen. */
  readonly #holders = new Map<number, string>();
  /** The nth ID of a range, which is reserved for member n as long as it is free. */
  readonly #preferred: ReadonlySet<number>;
  /** Where to continue in a range that several machines share. */
  readonly #ranges = new Map<readonly number[], { readonly ids: readonly number[]; at: number }>();
  #next: number | undefined;
  readonly #exhausted = new Map<string, Numbered[]>();

  constructor(input: PlannedIdsInput) {
    this.#input = input;
    const { machines, state, observed } = input;
    this.#next = observed.nextId;
    for (const [address, { vmid }] of Object.entries(state.vms)) this.#holders.set(vmid, address);
    for (const { address, fields } of machines) if (fields.vmid !== undefined) this.#holders.set(fields.vmid, address);
    this.#preferred = new Set(machines.flatMap(({ vmids, number }) => vmids?.[number - 1] ?? []));
  }

  /**
   * Undefined where it is left to apply; `none` where no ID of its range is free. `freedId`: its own ID, which is free
   * by then.
   */
  choose(vm: Numbered, freedId?: number): number | 'none' | undefined {
    if (vm.fields.vmid !== undefined) return vm.fields.vmid;
    if (this.#input.isActive === false) return undefined;
    const chosen = this.#firstFree(vm, freedId);
    if (chosen !== undefined) this.#holders.set(chosen, vm.address);
    else if (vm.vmids) this.#exhausted.set(vm.group, [...(this.#exhausted.get(vm.group) ?? []), vm]);
    return chosen ?? (vm.vmids ? 'none' : undefined);
  }

  /** An ID of the VM's range that nothing else will need, for a VM that exists for a while; undefined if there is none. */
  spare(vm: Numbered, holder: string): number | undefined {
    const found = vm.vmids?.findLast(
      (id) => !this.#preferred.has(id) && !this.#holders.has(id) && this.#isFree(id, vm),
    );
    if (found !== undefined) this.#holders.set(found, holder);
    return found;
  }

  /** Ranges with too few free IDs, each once. */
  problems(): Diagnostic[] {
    return [...this.#exhausted.values()].flatMap((vms) => {
      const [first] = vms;
      return first ? [this.#noneLeft(first, vms)] : [];
    });
  }

  #firstFree(vm: Numbered, freedId: number | undefined): number | undefined {
    // An interrupted run may have sent a request with the ID that it recorded.
    const recorded = this.#input.state.vms[vm.address];
    const begun = recorded?.uuid === undefined ? recorded?.vmid : undefined;
    // An interrupted run destroyed the VM that this one replaces.
    const replaced = this.#input.state.outages?.[vm.address]?.keeps?.vmid;
    const own = vm.vmids?.[vm.number - 1];
    const allowed = (id: number | undefined) => id !== undefined && (vm.vmids?.includes(id) ?? true);
    const first = [freedId, begun, replaced, own].find((id) => allowed(id) && this.#isFree(id ?? 0, vm, freedId));
    return first ?? (vm.vmids ? this.#nextInRange(vm, vm.vmids) : this.#nextOfAll(vm));
  }

  #nextInRange(vm: Numbered, vmids: readonly number[]): number | undefined {
    const range = this.#ranges.get(vmids) ?? {
      ids: [...vmids.filter((id) => !this.#preferred.has(id)), ...vmids.filter((id) => this.#preferred.has(id))],
      at: 0,
    };
    this.#ranges.set(vmids, range);
    while (range.at < range.ids.length && !this.#isFree(range.ids[range.at] ?? 0, vm)) range.at++;
    return range.ids[range.at];
  }

  #nextOfAll(vm: Numbered): number | undefined {
    if (this.#next === undefined) return undefined;
    while (this.#next <= VMID_MAX && !this.#isFree(this.#next, vm)) this.#next++;
    return this.#next <= VMID_MAX ? this.#next : undefined;
  }

  #isFree(id: number, vm: Numbered, freedId?: number): boolean {
    const { guests, takenIds } = this.#input.observed;
    const holder = this.#holders.get(id);
    if (holder !== undefined && holder !== vm.address) return false;
    return id === freedId || (!guests.has(id) && !takenIds.has(id));
  }

  #noneLeft(vm: Numbered, vms: readonly Numbered[]): Diagnostic {
    const { vmids = [] } = vm;
    const { guests, takenIds } = this.#input.observed;
    const others = vms.length > 1 ? ` and ${counted(vms.length - 1, 'other VM')} of its group` : '';
    const holders = vmids.slice(0, SHOWN).map((id) => {
      const guest = guests.get(id);
      const known = this.#holders.get(id);
      if (known !== undefined) return `${id} is for ${known}`;
      if (guest) return `${id} belongs to "${guest.name ?? '(no name)'}" on ${guest.node}`;
      return `${id} belongs to ${takenIds.has(id) ? 'a guest that the token may not see' : 'another guest'}`;
    });
    const rest = vmids.length > SHOWN ? `, and ${vmids.length - SHOWN} more are taken` : '';
    return new ProxwrightError({
      code: 'VMID_TAKEN',
      where: whereOf(vm, 'vmids'),
      detail: `No ID of "vmids" is left for ${vm.address}${others}: ${holders.join(', ')}${rest}.`,
      hint: 'Widen vmids, or remove guests that you no longer need.',
    }).diagnostic;
  }
}

const SHOWN = 8;
