/** For tests: calls the handler of an endpoint with parameters that have passed the validator, as the simulator does. */
import { ROUTES } from '../api/index.ts';
import type { Call, Handler } from '../core/call.ts';
import { paramFault } from '../http/response.ts';
import { apiOf } from '../schema/api-of-release.ts';
import type { RawParams } from '../schema/types.ts';
import { paramTexts, typedParams, validateParams } from '../schema/validate.ts';

const HANDLERS = new Map<string, Handler | undefined>(Object.entries(ROUTES));

/** `route` is a name of the API schema; `{node}` of the path may be left out of `params`. */
export async function answerOf(
  route: string,
  call: Omit<Call, 'params' | 'texts'>,
  params: RawParams,
): Promise<unknown> {
  const facts = apiOf(call.runtime.world.version.version)[route];
  const handler = HANDLERS.get(route);
  if (!facts || !handler) throw new Error(`${route} is not simulated`);
  const validated = validateParams(facts, { ...('node' in facts.params && { node: call.node }), ...params });
  if (!validated.ok) throw paramFault(validated.errors);
  return handler({
    ...call,
    params: typedParams(facts, validated.values) as never, // typed by the same facts
    texts: paramTexts(validated.values),
  });
}
