/** A place inside a value: attribute names, map keys, list positions. And the error that names such a place. */

export type PathStep =
  | { readonly kind: 'attribute'; readonly name: string }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'index'; readonly index: number };

export type AttributePath = readonly PathStep[];

export const attribute = (name: string): PathStep => ({ kind: 'attribute', name });
export const key = (text: string): PathStep => ({ kind: 'key', key: text });
export const index = (position: number): PathStep => ({ kind: 'index', index: position });

/** As the host's language writes it: `disks["scsi0"].size`. */
export function formatPath(path: AttributePath): string {
  const text = path.map((step) => {
    if (step.kind === 'attribute') return `.${step.name}`;
    return step.kind === 'key' ? `[${JSON.stringify(step.key)}]` : `[${step.index}]`;
  });
  return text.join('').replace(/^\./, '');
}

/** A value that does not fit its type. */
export class CtyError extends Error {
  override readonly name = 'CtyError';
  readonly path: AttributePath;
  readonly #reason: string;

  constructor(path: AttributePath, reason: string) {
    super(path.length === 0 ? reason : `${formatPath(path)}: ${reason}`);
    this.path = path;
    this.#reason = reason;
  }

  /**
   * The same problem, of a value inside a larger one. Every value is read and written without a path, because most of them fit;
   * on the way out, each structure adds its own step.
   */
  within(step: PathStep): CtyError {
    return new CtyError([step, ...this.path], this.#reason);
  }
}

/** What was thrown while a part of a structure was handled. */
export function within(step: PathStep, thrown: unknown): unknown {
  return thrown instanceof CtyError ? thrown.within(step) : thrown;
}
