/** What the calls on VMs and templates of one process share beside their surroundings. */
import { knownSurroundings } from '../configure/configuration.ts';
import type { CtyObject } from '../cty/value.ts';
import { type Surroundings, type SurroundingsOf, surroundingsDuring } from '../surroundings.ts';
import { Leftovers } from './leftovers.ts';
import { textOf, vmidOf } from './memory.ts';

/** What all calls of the process know, whichever resource they are about. */
class Knowledge {
  readonly leftovers = new WeakMap<Surroundings, Leftovers>();
  /** Ids of VMs that the host knows, with their names. */
  readonly known = new Map<number, string>();
  readonly doomed = new Set<number>();
  /** Names and ids of templates that are to be made. */
  readonly templates = new Set<string>();
  sessions = 0;
}

export class VmContext {
  readonly #surroundingsOf: SurroundingsOf;
  /** Those of the process; they outlive a call. */
  readonly #processSurroundingsOf: SurroundingsOf;
  readonly #shared: Knowledge;

  constructor(surroundingsOf: SurroundingsOf, processSurroundingsOf = surroundingsOf, shared = new Knowledge()) {
    this.#surroundingsOf = surroundingsOf;
    this.#processSurroundingsOf = processSurroundingsOf;
    this.#shared = shared;
  }

  /** For one call: what the process knows, and surroundings that end with the call. */
  during(call: AbortSignal): VmContext {
    const process = this.#processSurroundingsOf;
    return new VmContext(surroundingsDuring(call, process), process, this.#shared);
  }

  /** A VM of the host's state came by. */
  remember(state: CtyObject): void {
    const [vmid, name] = [vmidOf(state), textOf(state, 'name')];
    if (vmid !== undefined && name !== undefined) this.#shared.known.set(vmid, name);
  }

  isKnown(vmid: number): boolean {
    return this.#shared.known.has(vmid);
  }

  /** It is planned to be destroyed, perhaps to make room for its successor. */
  doom(state: CtyObject): void {
    const vmid = vmidOf(state);
    if (vmid !== undefined) this.#shared.doomed.add(vmid);
  }

  /**
   * Whether an id that is taken now will be free when it is needed. That a VM is to be replaced because the user says so
   * shows in nothing but a new VM with its id and name.
   */
  willBeFree(vmid: number, name: string): boolean {
    return this.#shared.doomed.has(vmid) || this.#shared.known.get(vmid) === name;
  }

  /** A template of this name, and of this id where it is known, is planned to be made. */
  planTemplate(name: string, vmid: number | undefined): void {
    this.#shared.templates.add(name);
    if (vmid !== undefined) this.#shared.templates.add(String(vmid));
  }

  /** Whether a template that is not there yet will be. The order of plans is that of the host's dependencies. */
  isTemplatePlanned(reference: string | number): boolean {
    return this.#shared.templates.has(String(reference));
  }

  /** Undefined while the provider's configuration is not known. */
  get surroundings(): Surroundings | undefined {
    return this.#surroundingsOf();
  }

  /** For calls that cannot be answered without a server. */
  requireSurroundings(): Surroundings {
    return knownSurroundings(this.#surroundingsOf);
  }

  /** Looked up once for all calls, so no single call's signal may end the lookup. */
  leftovers(): Leftovers {
    const process = knownSurroundings(this.#processSurroundingsOf);
    const leftovers = this.#shared.leftovers.get(process) ?? new Leftovers(process);
    this.#shared.leftovers.set(process, leftovers);
    return leftovers;
  }

  /** A name for a run of the engine that no other run of this process has. */
  sessionLabel(): string {
    this.#shared.sessions++;
    return `run ${this.#shared.sessions}`;
  }
}
