/** What the calls on VMs and templates of one process share beside their surroundings. */
import { knownSurroundings } from '../configure/configuration.ts';
import type { CtyObject } from '../cty/value.ts';
import type { Surroundings, SurroundingsOf } from '../surroundings.ts';
import { Leftovers } from './leftovers.ts';
import { textOf, vmidOf } from './memory.ts';

export class VmContext {
  readonly #surroundingsOf: SurroundingsOf;
  readonly #leftovers = new WeakMap<Surroundings, Leftovers>();
  /** Ids of VMs that the host knows, with their names. */
  readonly #known = new Map<number, string>();
  readonly #doomed = new Set<number>();
  /** Names and ids of templates that are to be made. */
  readonly #templates = new Set<string>();
  #sessions = 0;

  constructor(surroundingsOf: SurroundingsOf) {
    this.#surroundingsOf = surroundingsOf;
  }

  /** A VM of the host's state came by. */
  remember(state: CtyObject): void {
    const [vmid, name] = [vmidOf(state), textOf(state, 'name')];
    if (vmid !== undefined && name !== undefined) this.#known.set(vmid, name);
  }

  isKnown(vmid: number): boolean {
    return this.#known.has(vmid);
  }

  /** It is planned to be destroyed, perhaps to make room for its successor. */
  doom(state: CtyObject): void {
    const vmid = vmidOf(state);
    if (vmid !== undefined) this.#doomed.add(vmid);
  }

  /**
   * Whether an id that is taken now will be free when it is needed. That a VM is to be replaced because the user says so
   * shows in nothing but a new VM with its id and name.
   */
  willBeFree(vmid: number, name: string): boolean {
    return this.#doomed.has(vmid) || this.#known.get(vmid) === name;
  }

  /** A template of this name, and of this id where it is known, is planned to be made. */
  planTemplate(name: string, vmid: number | undefined): void {
    this.#templates.add(name);
    if (vmid !== undefined) this.#templates.add(String(vmid));
  }

  /** Whether a template that is not there yet will be. The order of plans is that of the host's dependencies. */
  isTemplatePlanned(reference: string | number): boolean {
    return this.#templates.has(String(reference));
  }

  /** Undefined while the provider's configuration is not known. */
  get surroundings(): Surroundings | undefined {
    return this.#surroundingsOf();
  }

  /** For calls that cannot be answered without a server. */
  requireSurroundings(): Surroundings {
    return knownSurroundings(this.#surroundingsOf);
  }

  leftovers(surroundings: Surroundings): Leftovers {
    const known = this.#leftovers.get(surroundings) ?? new Leftovers(surroundings);
    this.#leftovers.set(surroundings, known);
    return known;
  }

  /** A name for a run of the engine that no other run of this process has. */
  sessionLabel(): string {
    this.#sessions++;
    return `run ${this.#sessions}`;
  }
}
