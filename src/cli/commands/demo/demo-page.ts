/** The page of `demo --ui`: the demo's own cluster, stack and store, served while the demo runs and afterwards. */
import type { Clock } from '../../../base/clock.ts';
import type { Finding } from '../../../kinds/doctor/finding.ts';
import type { Pve } from '../../../pve/index.ts';
import type { ResolvedStack } from '../../../spec/index.ts';
import type { StateStore } from '../../../state/store.ts';
import type { PageServer } from '../../../ui/server/serve.ts';
import type { CommandDeps } from '../../command.ts';
import { STACK_FILE } from '../../examples.ts';
import { uiView } from '../../views/show/ui.ts';

export interface ShownDemo {
  readonly stack: ResolvedStack;
  readonly store: StateStore;
  readonly pve: Pve;
  /** Of the simulated cluster. */
  readonly clock: Clock;
  diagnose(): Promise<readonly Finding[]>;
}

/** Returns when the page is open in a browser, or the user wants to stop. */
export async function serveDemo(scene: ShownDemo, deps: CommandDeps, signal: AbortSignal): Promise<PageServer> {
  // Only here: the demo without a page does not load it.
  const [{ pageSource, quiet }, { servePage }, { PAGE }] = await Promise.all([
    import('../../ui/source.ts'),
    import('../../../ui/server/server.ts'),
    import('../../../ui/page.generated.ts'),
  ]);
  const { stack, store, pve, clock } = scene;
  const { directory } = deps;
  const own = quiet({ ...deps, clock }, []);
  const opened = { stack, store, file: STACK_FILE, directory, stateDirectory: directory, warnings: [] };
  const source = pageSource({
    entries: [{ id: stack.name, name: stack.name, file: STACK_FILE }],
    open: async (id) => (id === stack.name ? { stack: opened, deps: own } : undefined),
    // The demo closes its client itself.
    connect: async () => ({ ...pve, close: async () => {} }),
    diagnose: () => scene.diagnose(),
    deps: own,
  });
  const server = await servePage({ source, files: PAGE, clock: deps.clock, random: deps.random, log: deps.terminal });
  uiView(deps).listening({ link: server.link, stacks: [stack.name] });
  deps.terminal.log('info', 'The demo starts when you open the link.');
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  await Promise.race([server.opened, stopped]);
  return server;
}
