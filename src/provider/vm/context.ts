/** What the calls on VMs of one process share beside their surroundings. */
import { knownSurroundings } from '../configure/configuration.ts';
import type { Surroundings, SurroundingsOf } from '../surroundings.ts';
import { Leftovers } from './leftovers.ts';

export class VmContext {
  readonly #surroundingsOf: SurroundingsOf;
  readonly #leftovers = new WeakMap<Surroundings, Leftovers>();
  /** Ids of VMs that the host knows: one of them may be free by the time its successor is made. */
  readonly ownIds = new Set<number>();
  #sessions = 0;

  constructor(surroundingsOf: SurroundingsOf) {
    this.#surroundingsOf = surroundingsOf;
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
