/**
 * The page of stacks, read-only. It reads the recorded state and the cluster; it takes no lock and writes nothing, so a
 * page that watches a run can neither slow it down nor make it fail.
 */
import { type LiveNews, RunSender } from './changes.ts';
import { type PageServer, type Reply, type ServeDeps, serveRoutes } from './serve.ts';
import { type PageSource, VIEWS } from './source.ts';

export interface PageServerDeps extends ServeDeps {
  readonly source: PageSource;
}

export function servePage({ source, ...deps }: PageServerDeps, port = 0): Promise<PageServer> {
  return serveRoutes({ show: (parts) => shown(parts, source) }, deps, port);
}

async function shown(
  [area, stack = '', name = '', runId = '']: readonly string[],
  source: PageSource,
): Promise<Reply | undefined> {
  if (area === 'api' && stack === '') return json(await source.stacks());
  if (area === 'api' && name === 'live' && runId === '') return live(stack, source);
  if (area === 'api' && name === 'run' && runId !== '') return json(await source.run(stack, runId));
  if (area === 'report' && name !== '' && runId === '') {
    const html = await source.report(stack, name);
    return html === undefined ? undefined : { kind: 'page', html };
  }
  const view = VIEWS.find((each) => each === name);
  if (area !== 'api' || !view || runId !== '') return undefined;
  return json(await source.view(stack, view));
}

const json = (value: unknown): Reply => ({ kind: 'json', value });

/**
 * What is new about the newest run, whenever its journal has grown; null if there is none. If the journal cannot be read,
 * the page is told why, and the next look tries again.
 */
function live(stack: string, source: PageSource): Reply {
  let sender = new RunSender();
  return {
    kind: 'live',
    look: async (seen) => {
      const pulse = await source.pulse(stack);
      if (pulse === undefined) return undefined;
      const mark = pulse.ok ? pulse.value : JSON.stringify(pulse.problems);
      if (mark === seen) return undefined;
      if (!pulse.ok) {
        // The page forgets the run: what comes next must be the whole of it.
        sender = new RunSender();
        return { mark, value: { problems: pulse.problems } satisfies LiveNews };
      }
      const run = await source.run(stack, 'last');
      return { mark, value: (run ? sender.next(run) : null) satisfies LiveNews };
    },
  };
}
