/** `proxwright state unlock`: takes the lock away from a run that no longer lives; from one that may live, only when told to. */
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import { describeLock } from '../../state/lock-refusal.ts';
import type { LockHolder } from '../../state/store.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { requireConsent } from '../consent.ts';
import { openStack } from '../stack-host.ts';
import type { StateOptions } from './state.ts';

export interface UnlockOptions extends StateOptions {
  readonly force?: boolean;
}

export async function runStateUnlock(options: UnlockOptions, host: CommandHost): Promise<ExitCode> {
  const { store } = await openStack(options, host);
  const holder = await store.holder();
  if (!holder) {
    if (host.json) host.terminal.result(JSON.stringify({ unlocked: false }));
    host.terminal.success('There is no lock.');
    return 0;
  }
  const { owner, life } = holder;
  host.terminal.log('info', describeLock(owner));
  if (life === 'alive' && !options.force) throw lives(holder);
  if (life === 'unknown' && !options.force) {
    host.terminal.log('warn', 'Nobody can see from here whether that run still lives.');
    await requireConsent(host, options, 'state unlock', 'If it does, two runs work on the same VMs. Remove its lock?');
  }
  await store.unlock({ evenOf: owner });
  if (host.json) host.terminal.result(JSON.stringify({ unlocked: true, owner }));
  const why = life === 'dead' ? 'Unlocked: the lock was stale, its run no longer lives' : 'Unlocked';
  host.terminal.success(`${why}. What that run began is taken up by the next: proxwright apply`);
  return 0;
}

/** What lives can be waited for, or be stopped by whoever started it. */
function lives({ owner }: LockHolder): ProxwrightError {
  return new ProxwrightError({
    code: 'STATE_LOCKED',
    detail: `Process ${owner.pid} lives on this machine: without its lock, two runs would work on the same VMs.`,
    hint: advice`Wait for it, or stop it: kill ${owner.pid}. If that process is something else by now: ${command('state unlock', '--force')}`,
  });
}
