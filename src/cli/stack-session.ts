/** A run of the engine as commands need it: lock, signals, client, secrets, and the way out. */
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Address } from '../base/address.ts';
import { Canceled } from '../base/errors.ts';
import type { ExecuteResult } from '../engine/execute.ts';
import type { Plan } from '../engine/plan-types.ts';
import type { RunListener } from '../engine/run-memory.ts';
import { Session } from '../engine/session.ts';
import { createImageSources } from '../local/image-sources.ts';
import { tcpPortProbe } from '../local/port-probe.ts';
import type { Pve } from '../pve/index.ts';
import { isPciMapStep } from '../resources/pci/mapping.ts';
import { announceTakeover } from './announced-lock.ts';
import type { CommandHost } from './command-host.ts';
import { connect } from './connect.ts';
import type { StackHost } from './opened-stack.ts';
import { pastDurations } from './past-durations.ts';
import { createScreen } from './screen.ts';
import { resolveSecrets, type SecretsByVm } from './secrets.ts';
import type { Timeline } from './views/timeline.ts';

export interface StackRun {
  readonly session: Session;
  readonly pve: Pve;
  readonly secrets: SecretsByVm;
  /** Its terminal writes above whatever is drawn. */
  readonly host: CommandHost;
  execute(plan: Plan): Promise<Execution>;
}

export interface Execution extends ExecuteResult {
  readonly timeline: Timeline;
  readonly tookMs: number;
}

export async function withStackRun<Result>(
  stackHost: StackHost,
  outerHost: CommandHost,
  command: string,
  work: (run: StackRun) => Promise<Result>,
): Promise<Result> {
  const screen = createScreen(outerHost);
  const { host } = screen;
  const signal = stopSignal(host);
  const pve = await connect(stackHost, host);
  let onEvent: RunListener = () => {};
  const secrets = await resolveSecrets(stackHost, host);
  const sources = createImageSources({
    clock: host.clock,
    cacheDirectory: join(stackHost.stateDirectory, 'cache'),
    baseDirectory: stackHost.directory,
  });
  const session = await Session.open({
    pve,
    clock: host.clock,
    random: host.random,
    log: host.terminal,
    store: announceTakeover(stackHost.store, host.terminal),
    ports: tcpPortProbe,
    sources: sources.source,
    signal,
    onEvent: (event) => onEvent(event),
    stack: stackHost.stack,
    secrets,
    owner: { who: userName(), host: hostname(), pid: process.pid, command },
  });
  const execute = async (plan: Plan): Promise<Execution> => {
    const { timeline, view } = screen.begin(addressesOf(plan), await pastDurations(stackHost.store));
    onEvent = view.onEvent;
    const startedAt = host.clock.now();
    try {
      const result = await session.execute(plan);
      return { ...result, timeline, tookMs: host.clock.now() - startedAt };
    } finally {
      await view.end();
    }
  };
  try {
    return await work({ session, pve, secrets, host, execute });
  } finally {
    await session.close();
    await sources.close();
    await pve.close();
  }
}

/** Ctrl-C once stops cleanly; a second one ends the process, which the next run survives too. */
function stopSignal(host: CommandHost): AbortSignal {
  const controller = new AbortController();
  void host.stopRequested().then(() => {
    host.terminal.log('warn', 'Stopping as soon as what stands can be written down. Once more leaves at once.');
    controller.abort(new Canceled('Stopped on request. Nothing was undone; run the command again to go on.'));
  });
  return controller.signal;
}

function addressesOf(plan: Plan): Set<Address> {
  return new Set(plan.steps.filter((step) => !isPciMapStep(step)).map(({ address }) => address));
}

export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user without an entry in the password file, as in many containers.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
