/** A client on a scripted transport and a virtual clock, for tests. */
import { ProxwrightError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { createPve, type PveLimits } from '../client.ts';
import { type Credentials, parseToken } from '../http/credentials.ts';
import { afterLogin, type Script, scriptedTransport } from './scripted-transport.ts';

export const TOKEN_SECRET = '11111111-2222-3333-4444-555555555555';

export function testClient(
  script: Script,
  options: { credentials?: Credentials; logger?: Logger; limits?: Partial<PveLimits>; rawLogin?: true } = {},
) {
  const clock = new VirtualClock();
  const transport = scriptedTransport(options.rawLogin ? script : afterLogin(script));
  const pve = createPve({
    transport,
    endpoint: 'https://pve.test:8006',
    credentials: options.credentials ?? parseToken(`deploy@pve!ci=${TOKEN_SECRET}`),
    clock,
    random: seededRandom(1),
    ...(options.logger && { logger: options.logger }),
    ...(options.limits && { limits: options.limits }),
  });
  return { clock, transport, pve };
}

/** The error that work ends with; anything but a `ProxwrightError` fails the test. */
export async function errorOf(clock: VirtualClock, work: () => Promise<unknown>): Promise<ProxwrightError> {
  const outcome = await clock.run(() =>
    work().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    ),
  );
  if ('error' in outcome && outcome.error instanceof ProxwrightError) return outcome.error;
  throw new Error(
    `expected a ProxwrightError, got ${JSON.stringify(outcome)} ${String('error' in outcome && outcome.error)}`,
  );
}
