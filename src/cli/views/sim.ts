/** How `sim` tells clients to reach it. */
import type { Output } from '../terminal.ts';
import { chooseView, type ViewDeps } from './view.ts';

export interface SimView {
  /** The environment that a client needs. */
  listening(variables: Readonly<Record<string, string>>): void;
}

export function simView(deps: ViewDeps & { readonly stdout: Output }): SimView {
  return chooseView<SimView>(deps, {
    human: ({ terminal, print }) => ({
      listening: (variables) => {
        // A person pastes the lines into a shell, which would interpret an unquoted "!".
        const line = ([name, value]: readonly [string, string]) =>
          deps.stdout.isTTY ? `export ${name}='${value}'` : `${name}=${value}`;
        print(Object.entries(variables).map(line));
        terminal.log('info', 'Paste the three lines above into another terminal, then try: proxwright plan');
      },
    }),
    json: ({ print }) => ({ listening: (variables) => print(variables) }),
  });
}
