/** How `sim` tells clients to reach it. */
import type { Output } from '../terminal.ts';
import { chooseView, type ViewDeps } from './view.ts';

export interface SimView {
  /** The environment that a client needs. */
  listening(variables: Readonly<Record<string, string>>): void;
  page(link: string): void;
}

export function simView(deps: ViewDeps & { readonly stdout: Output }): SimView {
  return chooseView<SimView>(deps, {
    human: ({ terminal, print }) => ({
      listening: (variables) => {
        // For a shell, also through a pipe or a file; it would interpret an unquoted "!".
        print(Object.entries(variables).map(([name, value]) => `export ${name}='${value}'`));
        terminal.log('info', 'Paste the three lines above into another terminal, then try: proxwright plan');
      },
      // Standard output is for the shell.
      page: (link) =>
        terminal.log('info', `The page of this cluster, where faults can be switched on: ${link} (works once)`),
    }),
    // Variables and nothing else: a program sets all of them.
    json: ({ terminal }) => ({
      listening: (variables) => terminal.data(variables),
      page: (link) => terminal.log('info', 'The page of this cluster is ready. Its link works once.', { link }),
    }),
  });
}
