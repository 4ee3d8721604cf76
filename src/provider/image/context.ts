/** What the calls on images of one process share beside their surroundings. */
import { type FilePlace, keyOf } from '../../kinds/image/steps.ts';
import { knownSurroundings } from '../configure/configuration.ts';
import { type Surroundings, type SurroundingsOf, surroundingsDuring } from '../surroundings.ts';

export class ImageContext {
  readonly #surroundingsOf: SurroundingsOf;
  readonly #shared: { readonly known: Set<string>; runs: number };

  constructor(surroundingsOf: SurroundingsOf, shared = { known: new Set<string>(), runs: 0 }) {
    this.#surroundingsOf = surroundingsOf;
    this.#shared = shared;
  }

  /** For one call: what the process knows, and surroundings that end with the call. */
  during(call: AbortSignal): ImageContext {
    return new ImageContext(surroundingsDuring(call, this.#surroundingsOf), this.#shared);
  }

  /** The host has an image there. */
  remember(place: FilePlace): void {
    this.#shared.known.add(keyOf(place));
  }

  /** One that the host has already goes before another one comes in its place. */
  isKnown(place: FilePlace): boolean {
    return this.#shared.known.has(keyOf(place));
  }

  /** Undefined while the provider's configuration is not known. */
  get surroundings(): Surroundings | undefined {
    return this.#surroundingsOf();
  }

  /** For calls that cannot be answered without a server. */
  requireSurroundings(): Surroundings {
    return knownSurroundings(this.#surroundingsOf);
  }

  /** A name for a run of the engine that no other run of this process has. */
  runLabel(): string {
    this.#shared.runs++;
    return `image run ${this.#shared.runs}`;
  }
}
