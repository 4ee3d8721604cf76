/**
 * The page of stacks, read-only. It looks at what is recorded and asks the cluster; it takes no lock and writes nothing, so
 * that a run is neither slowed nor failed by a page that watches it.
 */
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

/** The newest state of the newest run, whenever its journal has grown; null while there is none. */
function live(stack: string, source: PageSource): Reply {
  return {
    kind: 'live',
    look: async (seen) => {
      const mark = await source.pulse(stack);
      return mark === undefined || mark === seen
        ? undefined
        : { mark, value: (await source.run(stack, 'last')) ?? null };
    },
  };
}
