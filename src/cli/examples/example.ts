/** What an example of `init` is made of. */
export interface Example {
  /** By name; `stack.yaml` is one of them. The files of the same name in the repository's `examples/` hold the same. */
  readonly files: Readonly<Record<string, string>> & { readonly 'stack.yaml': string };
  /** The simulated world it runs on. */
  readonly world: 'default' | 'bare';
  /** Files with secrets that its user makes: none of git's business. */
  readonly secrets?: readonly string[];
}
