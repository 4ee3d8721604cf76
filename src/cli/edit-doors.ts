/** What commands need that change the state by hand: the doors of an edit. */
import { hostname } from 'node:os';
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
