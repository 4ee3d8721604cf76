/** `proxwright ui`: serves the page on this machine until it is stopped. Read-only. */
import { PAGE } from '../../../ui/page.generated.ts';
import { servePage } from '../../../ui/server/server.ts';
import { badOption, type CommandDeps, type ExitCode, type StackOptions } from '../../command.ts';
import { createPageSource } from '../../ui/source.ts';
import { uiView } from '../../views/show/ui.ts';

export interface UiOptions extends StackOptions {
  readonly port: string;
}

export async function runUi(options: UiOptions, deps: CommandDeps): Promise<ExitCode> {
  const port = portOf(options.port);
  const stopped = deps.stopRequested();
  const source = await createPageSource(options, deps);
  const { clock, random, terminal } = deps;
  const server = await servePage({ source, files: PAGE, clock, random, log: terminal }, port).catch(
    (error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      throw badOption('--port', `Port ${port} cannot be used: ${reason}.`, ANOTHER);
    },
  );
  uiView(deps).listening({ link: server.link, stacks: (await source.stacks()).map(({ name }) => name) });
  await stopped;
  await server.close();
  return 0;
}

const ANOTHER = 'Choose another one, or 0 for any free one.';

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw badOption('--port', `"${text}" is not a port.`, ANOTHER);
}
