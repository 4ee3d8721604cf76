/** Removing an image: only one that we brought, and only as it was last seen. */
import type { CtyObject } from '../cty/value.ts';
import type { ApplyResult, PrivateState } from '../provider.ts';
import { carryOut } from '../run/outcome.ts';
import { stackOf, withEngineRun } from '../run/session.ts';
import { stateWith } from './bring.ts';
import type { ImageContext } from './context.ts';
import { staying } from './plan.ts';
import { readPrivate } from './private-state.ts';
import { IMAGE } from './schema.ts';
import { wantedImage } from './wanted-image.ts';

export async function destroyImage(context: ImageContext, prior: CtyObject, bytes: PrivateState): Promise<ApplyResult> {
  const surroundings = context.requireSurroundings();
  const kept = readPrivate(bytes);
  if (!kept?.brought) return { state: null, private: undefined, diagnostics: [staying(prior)] };
  const { timeouts } = wantedImage(prior);
  const stack = stackOf(surroundings, {}, timeouts);
  const state = stateWith(surroundings, kept.file);
  try {
    const run = { stack, state, secrets: new Map() };
    const problems = await withEngineRun(surroundings, run, context.runLabel(), async (session) =>
      carryOut(session, await session.planDestroy({ running: 'refuse', all: true }), IMAGE),
    );
    if (problems.length > 0) return { state: prior, private: bytes, diagnostics: problems };
    return { state: null, private: undefined, diagnostics: [] };
  } finally {
    surroundings.forgetLooks();
  }
}
