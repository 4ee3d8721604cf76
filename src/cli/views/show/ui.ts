/** Where the page is. */
import { chooseView, type ViewDeps } from '../view.ts';

export interface UiView {
  listening(page: { readonly link: string; readonly stacks: readonly string[] }): void;
}

export function uiView(deps: ViewDeps): UiView {
  return chooseView<UiView>(deps, {
    human: ({ print, terminal }) => ({
      listening: ({ link, stacks }) => {
        print([link]);
        terminal.log('info', stacks.length === 0 ? 'There is no stack file here.' : `It shows ${stacks.join(', ')}.`);
        terminal.log('info', 'The link works once, in one browser on this machine. Stop the page with Ctrl-C.');
      },
    }),
    json: ({ print }) => ({ listening: (page) => print(page) }),
  });
}
