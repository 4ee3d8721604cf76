/** What the calls on images of one process share beside their surroundings. */
import { type FilePlace, keyOf } from '../../resources/file/steps.ts';
import { knownSurroundings } from '../configure/configuration.ts';
import type { Surroundings, SurroundingsOf } from '../surroundings.ts';

export class ImageContext {
  readonly #surroundingsOf: SurroundingsOf;
  readonly #known = new Set<string>();
  #runs = 0;

  constructor(surroundingsOf: SurroundingsOf) {
    this.#surroundingsOf = surroundingsOf;
  }

  /** The host has an image there. */
  remember(place: FilePlace): void {
    this.#known.add(keyOf(place));
  }

  /** One that the host has already goes before another one comes in its place. */
  isKnown(place: FilePlace): boolean {
    return this.#known.has(keyOf(place));
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
    this.#runs++;
    return `image run ${this.#runs}`;
  }
}
