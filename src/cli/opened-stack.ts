/** The stack a command works on, once its file has been read. */
import type { Diagnostic } from '../base/diagnostics.ts';
import type { ResolvedStack } from '../spec/index.ts';
import type { StateStore } from '../state/store.ts';

export interface StackHost {
  readonly stack: ResolvedStack;
  /** As messages name it. */
  readonly file: string;
  /** Where relative paths of the file begin. */
  readonly directory: string;
  readonly store: StateStore;
  readonly stateDirectory: string;
  /** Of the file; they have been shown. */
  readonly warnings: readonly Diagnostic[];
}
