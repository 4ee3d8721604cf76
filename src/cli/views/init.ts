/** What `init` wrote, and what to do next. */
import { type Example, STACK_FILE } from '../examples.ts';
import { chooseView, type ViewDeps } from './view.ts';

export interface InitView {
  /** Without an example, only the schema was written. */
  written(files: readonly string[], example: Example | undefined): void;
}

export function initView(deps: ViewDeps): InitView {
  return chooseView<InitView>(deps, {
    human: ({ terminal }) => ({
      written: (files, example) => {
        terminal.success(`Wrote ${files.join(', ')}.`);
        if (example) for (const line of nextSteps(example)) terminal.log('info', line);
      },
    }),
    json: ({ print }) => ({ written: (written) => print({ written }) }),
  });
}

function nextSteps({ files, world, secrets = [] }: Example): string[] {
  const stack = files.get(STACK_FILE) ?? '';
  const sim = world === 'default' ? 'proxwright sim' : `proxwright sim --world ${world}`;
  const needed = secrets.filter((name) => stack.includes(`{ file: ./${name} }`));
  return [
    ...needed.map((name) => `It needs a file that only you can create, ${name}: ${STACK_FILE} explains it.`),
    `Next: edit ${STACK_FILE}, then run proxwright validate and proxwright plan.`,
    `No Proxmox at hand? ${sim} serves a simulated one, on which the example runs unchanged.`,
  ];
}
