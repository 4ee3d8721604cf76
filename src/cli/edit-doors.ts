/** What commands need that change the state by hand: the doors of an edit, and the user's consent. */
import { hostname } from 'node:os';
import { Canceled, SpecError } from '../base/errors.ts';
import type { EditDoors } from '../engine/state-edit.ts';
import { announceTakeover } from './announced-lock.ts';
import type { CommandHost } from './command-host.ts';
import type { StackHost } from './opened-stack.ts';
import { userName } from './stack-session.ts';

export function editDoors({ stack, store }: StackHost, host: CommandHost, command: string): EditDoors {
  return {
    store: announceTakeover(store, host.terminal),
    clock: host.clock,
    random: host.random,
    stackName: stack.name,
    owner: { who: userName(), host: hostname(), pid: process.pid, command },
  };
}

/** Asks unless `--yes` was given; where nobody can be asked, consent has to be given beforehand. */
export async function requireConsent(
  host: CommandHost,
  { yes }: { readonly yes?: boolean },
  command: string,
  question: string,
): Promise<void> {
  if (yes) return;
  if (!host.canAsk) {
    throw new SpecError({
      code: 'BAD_VALUE',
      where: { file: `proxwright ${command}` },
      detail: 'There is no terminal to ask on, and --yes was not given; nothing was done.',
      hint: `If you are sure: proxwright ${command} --yes`,
    });
  }
  const answer = await host.ask(`${question} [y/N] `);
  if (!/^\s*(y|yes)\s*$/i.test(answer ?? '')) throw new Canceled('Nothing was changed.');
}
