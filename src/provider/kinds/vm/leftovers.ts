/**
 * What the process knows about VMs other than the one of a call: those in the host's state, those that a plan creates
 * or destroys, and those that earlier processes left incomplete. VMs and templates share it, because they share ids and
 * names.
 *
 * A create that fails returns no state, because the host would destroy what it returns. The VM stays, marked in its
 * ownership line, and the next create of the same name by the same token resumes with it. A VM without that mark is
 * never taken over.
 */
import { orCanceled } from '../../../base/clock.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import type { PlanResult } from '../../../engine/index.ts';
import { readVm, type VmObserved } from '../../../kinds/vm/observed.ts';
import { findOwnership, type Ownership } from '../../../kinds/vm/ownership.ts';
import { staticAddresses } from '../../../kinds/vm/ready/checks.ts';
import type { VmRecord } from '../../../kinds/vm/record.ts';
import type { ResolvedVm } from '../../../kinds/vm/stack.ts';
import { isNotFound, type Pve, parseUpid, type Upid } from '../../../pve/index.ts';
import { numberAt, textAt } from '../../adapter/attributes.ts';
import type { Deps } from '../../adapter/deps.ts';
import { EarlierTasks } from '../../adapter/earlier-tasks.ts';
import { ownerName } from '../../adapter/engine-run.ts';
import type { CtyObject } from '../../cty/value.ts';

/** Longer than the host takes to ask for the plans that it makes at the same time. */
const LEAVING_MS = 3_000;
const LOOK_MS = 50;

export class KnownVms {
  /** By client: another configuration may mean another cluster. */
  readonly #leftovers = new WeakMap<Pve, Leftovers>();
  /** vmid → name, of VMs in the host's state. */
  readonly #known = new Map<number, string>();
  readonly #leaving = new Set<number>();
  /** Names and ids of templates that are planned. */
  readonly #templates = new Set<string>();
  /** Static addresses of planned VMs. */
  readonly #addresses = new Map<string, readonly PlannedAddress[]>();

  noteState(state: CtyObject): void {
    const [vmid, name] = [numberAt(state, 'vmid'), textAt(state, 'name')];
    if (vmid !== undefined && name !== undefined) this.#known.set(vmid, name);
  }

  isKnown(vmid: number): boolean {
    return this.#known.has(vmid);
  }

  /** A plan destroys this VM, perhaps to replace it. */
  noteLeaving(state: CtyObject): void {
    const vmid = numberAt(state, 'vmid');
    if (vmid !== undefined) this.#leaving.add(vmid);
    this.#forgetAddresses(state);
  }

  /**
   * The addresses that a VM has after this run, and who else was planned with one of them. VMs in the host's state are
   * compared here and nowhere else: the same run may give them other addresses.
   */
  noteAddresses({ fields }: ResolvedVm, before?: CtyObject): readonly (PlannedAddress & { readonly other: string })[] {
    if (before) this.#forgetAddresses(before);
    const own = `${fields.name} ${fields.vmid ?? ''}`;
    const planned = Object.entries(fields.nics ?? {}).flatMap(([slot, nic]) =>
      staticAddresses(nic).map((address) => ({ slot, address, network: `${nic.bridge ?? ''}/${nic.vlan || ''}` })),
    );
    this.#addresses.set(own, planned);
    return planned.flatMap((each) =>
      [...this.#addresses].flatMap(([key, theirs]) => {
        const isShared = theirs.some(({ address, network }) => address === each.address && network === each.network);
        return key !== own && isShared ? [{ ...each, other: key.split(' ')[0] ?? key }] : [];
      }),
    );
  }

  #forgetAddresses(state: CtyObject): void {
    const name = textAt(state, 'name');
    for (const vmid of ['', numberAt(state, 'vmid')]) this.#addresses.delete(`${name} ${vmid}`);
  }

  /**
   * Whether an id that is taken now will be free at apply. A requested replacement shows only in a new VM with the same
   * id and name.
   */
  willBeFree(vmid: number, name: string): boolean {
    return this.#leaving.has(vmid) || this.#known.get(vmid) === name;
  }

  /**
   * The host plans concurrently: the destruction of the VM with this id may become known only a moment after a plan was
   * refused because of it. Then this plans once more.
   */
  async onceFree(
    { vmid, name }: { readonly vmid?: number | undefined; readonly name: string },
    { clock, signal }: Pick<Deps, 'clock' | 'signal'>,
    plan: () => Promise<PlanResult>,
  ): Promise<PlanResult> {
    const first = await plan();
    if (first.ok || vmid === undefined || !first.problems.some(({ code }) => code === 'VMID_TAKEN')) return first;
    for (let waitedMs = 0; waitedMs < LEAVING_MS && !this.willBeFree(vmid, name); waitedMs += LOOK_MS) {
      await clock.sleep(LOOK_MS, signal);
    }
    return this.willBeFree(vmid, name) ? plan() : first;
  }

  noteTemplate(name: string, vmid: number | undefined): void {
    this.#templates.add(name);
    if (vmid !== undefined) this.#templates.add(String(vmid));
  }

  /** Whether a template that does not exist yet will. The host plans in the order of its dependencies. */
  isTemplatePlanned(reference: string | number): boolean {
    return this.#templates.has(String(reference));
  }

  /** Looked up once for all calls. */
  leftovers(deps: Deps): Leftovers {
    const leftovers = this.#leftovers.get(deps.work) ?? new Leftovers(deps);
    this.#leftovers.set(deps.work, leftovers);
    return leftovers;
  }
}

interface PlannedAddress {
  readonly slot: string;
  readonly address: string;
  /** Bridge and VLAN, as the configuration names them. */
  readonly network: string;
}

const isCreation = (upid: Upid) => /^qm(clone|create)$/.test(parseUpid(upid)?.type ?? '');

/** What the engine starts; a backup or a console by the same token is not its business. */
const OWN_TYPES = /^(qm(clone|create|config|start|stop|shutdown|destroy|igrate|template)|resize)$/;

/** What earlier processes left. A VM shows our mark only when its creation task has ended. */
class Leftovers {
  readonly #deps: Deps;
  readonly #tasks: EarlierTasks;
  #settled: Promise<readonly ListedVm[]> | undefined;
  readonly #destroyed = new Set<number>();
  /** Every request of an earlier process was sent before that. */
  readonly bornTicks: number;

  constructor(deps: Deps) {
    this.bornTicks = deps.clock.ticks();
    this.#deps = deps;
    this.#tasks = new EarlierTasks(deps, (type) => OWN_TYPES.test(type));
  }

  /** For a plan: does not wait for anything, except for the list of a creation that this process has begun. */
  async glance(query: IncompleteQuery, signal: AbortSignal): Promise<IncompleteVm | undefined> {
    const { looks } = this.#deps;
    const listed = this.#settled ? await this.list(signal) : await listVms(looks, signal);
    return findIncomplete(looks, listed, query, signal);
  }

  /** Before a creation: waits for what may still be on its way. */
  async find(query: IncompleteQuery, signal: AbortSignal): Promise<IncompleteVm | undefined> {
    const found = await findIncomplete(this.#deps.work, await this.list(signal), query, signal);
    if (found) await this.settle(found, signal);
    return found;
  }

  /** All VMs, read after the creations of earlier processes ended and before this process started any. */
  async list(signal: AbortSignal): Promise<readonly ListedVm[]> {
    this.#settled ??= this.#settleCreations();
    this.#settled.catch(() => {
      this.#settled = undefined;
    });
    return (await orCanceled(this.#settled, signal)).filter(({ vmid }) => !this.#destroyed.has(vmid));
  }

  /** This process destroyed it; what has its id from now on is another VM. */
  noteDestroyed(vmid: number): void {
    this.#destroyed.add(vmid);
  }

  /** Before anything else happens to an existing VM: waits for tasks on it, and says which they were. */
  settle({ node, vmid }: Pick<ListedVm, 'node' | 'vmid'>, signal: AbortSignal): Promise<readonly Upid[]> {
    return this.#tasks.end(node, (upid) => parseUpid(upid)?.id === String(vmid), signal);
  }

  /** Calls share the result, so no single call's signal may end the lookup. */
  async #settleCreations(): Promise<readonly ListedVm[]> {
    const { work, stop } = this.#deps;
    const nodes = (await work.nodes({ signal: stop })).filter(({ status }) => status === 'online');
    // Proxmox files a clone under its source, so a task does not tell which VM it creates.
    await Promise.all(nodes.map(({ node }) => this.#tasks.end(node, isCreation, stop)));
    return listVms(work, stop);
  }
}

export interface IncompleteVm {
  readonly vmid: number;
  readonly node: string;
  readonly name: string;
  readonly nonce: string;
  /** A task still works on it. */
  readonly lock: string | undefined;
  /** Absent while Proxmox creates it. */
  readonly uuid: string | undefined;
}

interface IncompleteQuery {
  readonly name: string;
  readonly vmid?: number | undefined;
}

/** A VM as the list of its node has it. Unlike the cluster's list, that one does not lag. */
export interface ListedVm {
  readonly vmid: number;
  readonly node: string;
  readonly name: string | undefined;
  readonly running: boolean;
  readonly template: boolean;
}

export async function listVms(pve: Pve, signal?: AbortSignal): Promise<ListedVm[]> {
  const nodes = await pve.nodes({ signal });
  const lists = await Promise.all(
    nodes
      .filter(({ status }) => status === 'online')
      .map(async ({ node }) => {
        const vms = await pve.node(node).vms.list({}, { signal });
        return vms.map(({ vmid, name, status, template }): ListedVm => {
          return { vmid, node, name, running: status === 'running', template: template ?? false };
        });
      }),
  );
  return lists.flat();
}

/** The one VM that an earlier create left; undefined for a fresh start. */
async function findIncomplete(
  pve: Pve,
  listed: readonly ListedVm[],
  { name, vmid }: IncompleteQuery,
  signal: AbortSignal,
): Promise<IncompleteVm | undefined> {
  const candidates = listed.filter(
    (row) => row.name === name && !row.template && (vmid === undefined || row.vmid === vmid),
  );
  const matches = (await incompleteAmong(pve, candidates, signal)).filter((vm) => vm.name === name);
  const [only, second] = matches;
  if (second === undefined) return only;
  const places = matches.map((match) => `${match.vmid} on ${match.node}`).join(', ');
  throw new ProxwrightError({
    code: 'AMBIGUOUS',
    detail: `Earlier runs left several incomplete VMs called "${name}": ${places}. Proxwright cannot tell which one to complete.`,
    where: { field: 'vmid' },
    hint: 'Set vmid to the one that you want to complete, and remove the others by hand.',
  });
}

/** All marked VMs of this token among these, whatever their name. */
export async function incompleteAmong(
  pve: Pve,
  listed: readonly ListedVm[],
  signal: AbortSignal,
): Promise<IncompleteVm[]> {
  const found = await Promise.all(
    listed.map(async (row): Promise<IncompleteVm | undefined> => {
      const { vm, line } = await ownershipOf(pve, row, signal);
      if (!vm || !line || !isMark(line, row.vmid, ownerName(pve))) return undefined;
      const name = line.address.replace(/^vm\./, '');
      return { vmid: row.vmid, node: row.node, name, nonce: line.nonce, lock: vm.lock, uuid: vm.uuid };
    }),
  );
  return found.filter((vm) => vm !== undefined);
}

/** A listed VM and its ownership line; neither if it no longer exists. */
export async function ownershipOf(
  pve: Pve,
  { vmid, node, running }: ListedVm,
  signal: AbortSignal,
): Promise<{ readonly vm?: VmObserved; readonly line?: Ownership | undefined }> {
  try {
    const vm = await readVm(pve, node, vmid, { running, signal });
    return { vm, line: findOwnership(vm.current.get('description') ?? '') };
  } catch (error) {
    if (isNotFound(error)) return {};
    throw error;
  }
}

type Mark = Ownership & { readonly nonce: string };

/** A clone copies the line of its source, with the source's id. */
export function isMark(line: Ownership, vmid: number, owner: string): line is Mark {
  return line.incomplete === true && line.nonce !== undefined && line.vmid === vmid && line.stack === owner;
}

/** What the run that was creating it would have recorded. The next run settles it first. */
export function recordedIncomplete({ vmid, node, name, nonce }: IncompleteVm): VmRecord {
  return { vmid, node, name, nonce, phase: 'creating', lastApplied: {}, secrets: {}, macs: {}, addresses: {} };
}
