/**
 * What the token may do, asked path by path and remembered. A privilege that is named is granted; what comes with it only
 * says whether it is passed on to everything below. The answer already takes token and owner together.
 */
import { setMaxListeners } from 'node:events';
import type { Pve } from '../../pve/client.ts';
import type { Requirement } from './requirement.ts';

/** Privilege → whether it is passed on. */
export type GrantsOnPath = ReadonlyMap<string, boolean>;

export class Grants {
  readonly #pve: Pve;
  readonly #signal: AbortSignal | undefined;
  readonly #answers = new Map<string, Promise<GrantsOnPath>>();
  readonly #known = new Map<string, GrantsOnPath>();

  constructor(pve: Pve, signal?: AbortSignal) {
    this.#pve = pve;
    this.#signal = signal;
    // Every question listens to it, and many are asked at once; that is no leak to be warned of.
    if (signal) setMaxListeners(0, signal);
  }

  /** All at once; each path is asked for only the first time. The client bounds how many requests are under way. */
  async ask(paths: Iterable<string>): Promise<void> {
    await Promise.all([...paths].map((path) => this.#askOnce(path)));
  }

  /** Nothing where nobody asked. */
  on(path: string): GrantsOnPath {
    return this.#known.get(path) ?? new Map();
  }

  /** Everything that was asked about. */
  get paths(): readonly string[] {
    return [...this.#known.keys()];
  }

  holds(requirement: Pick<Requirement, 'privileges' | 'paths' | 'instead'>): boolean {
    return this.#isGranted(requirement) || (requirement.instead?.every((each) => this.#isGranted(each)) ?? false);
  }

  #isGranted({ privileges, paths }: Pick<Requirement, 'privileges' | 'paths'>): boolean {
    return paths.some(({ path, below }) =>
      privileges.some((privilege) => {
        const isPassedOn = this.on(path).get(privilege);
        return isPassedOn === true || (isPassedOn === false && !below);
      }),
    );
  }

  #askOnce(path: string): Promise<GrantsOnPath> {
    const asked = this.#answers.get(path) ?? this.#read(path);
    this.#answers.set(path, asked);
    return asked;
  }

  async #read(path: string): Promise<GrantsOnPath> {
    const answer = await this.#pve.access.permissions({ path }, { signal: this.#signal });
    const granted = new Map(Object.entries(answer[path] ?? {}));
    this.#known.set(path, granted);
    return granted;
  }
}

/** Whoever logs in as root with a password may do everything; a token of root may not. */
export function isRealRoot({ principal }: Pick<Pve, 'principal'>): boolean {
  return principal === 'root@pam';
}
