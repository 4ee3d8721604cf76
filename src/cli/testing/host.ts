/** A host that writes into memory. */
import { silentLogger } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import type { CommandHost } from '../command-host.ts';

export function testHost(part: Partial<CommandHost> = {}): { readonly host: CommandHost; readonly warnings: string[] } {
  const warnings: string[] = [];
  const nowhere = { write: () => true };
  const host: CommandHost = {
    terminal: {
      ...silentLogger,
      log: (level, message) => {
        if (level === 'warn') warnings.push(message);
      },
      result: () => {},
      success: () => {},
      diagnostic: () => {},
    },
    level: 'info',
    json: false,
    clock: new VirtualClock(),
    random: systemRandom,
    environment: {},
    directory: '.',
    stdout: nowhere,
    stderr: nowhere,
    canAsk: false,
    stopRequested: () => new Promise(() => {}),
    ask: async () => undefined,
    ...part,
  };
  return { host, warnings };
}
