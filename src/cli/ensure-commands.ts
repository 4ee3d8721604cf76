/** Names, options and help of `image ensure` and `template ensure`. */
import type { Command } from 'commander';
import type { EnsureOptions } from './commands/ensure.ts';
import { collect, type RunCommand, stackOptions } from './stack-options.ts';

const KINDS = {
  image: {
    about: 'images of the stack: files that Proxmox fetches, or that are sent to it',
    ensure: 'bring the images of the stack into their storages; what is there and right is left alone',
    example: 'proxwright image ensure noble --replace image.noble    bring it again, in place of what is there',
  },
  template: {
    about: 'templates of the stack: built once, then cloned',
    ensure:
      'build the templates of the stack, with the images they are made from; what is there and right is left alone',
    example: 'proxwright template ensure --yes    in a nightly job: nothing happens until a recipe changes',
  },
} as const;

export function addEnsure(program: Command, run: RunCommand): void {
  for (const kind of ['image', 'template'] as const) {
    const { about, ensure, example } = KINDS[kind];
    const parent = program.command(kind).description(about);
    stackOptions(parent.command('ensure'))
      .description(ensure)
      .argument('[names...]', `only these ${kind}s`)
      .option('-y, --yes', 'do not ask')
      .option('--replace <address>', `make this one anew, for example ${kind}.noble; may be repeated`, collect, [])
      .addHelpText('after', `\nExample:\n  ${example}`)
      .action(async (names: string[], options: EnsureOptions) => {
        await run(options, async (host) =>
          (await import('./commands/ensure.ts')).runEnsure(kind, names, options, host),
        );
      });
  }
}
