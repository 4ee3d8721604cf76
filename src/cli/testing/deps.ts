/** Deps that write to memory. */
import { OWN_LANGUAGE } from '../../base/hint.ts';
import { silentLogger } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import { KnownSecrets } from '../../base/secret.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import type { CommandDeps } from '../command.ts';

interface TestDeps {
  readonly deps: CommandDeps;
  readonly warnings: string[];
  readonly errors: string[];
}

export function testDeps(part: Partial<CommandDeps> = {}): TestDeps {
  const warnings: string[] = [];
  const errors: string[] = [];
  const nowhere = { write: () => true };
  const deps: CommandDeps = {
    terminal: {
      ...silentLogger,
      log: (level, message) => {
        if (level === 'warn') warnings.push(message);
        if (level === 'error') errors.push(message);
      },
      result: () => {},
      data: () => {},
      success: () => {},
      diagnostic: () => {},
      language: OWN_LANGUAGE,
    },
    level: 'info',
    json: false,
    clock: new VirtualClock(),
    random: systemRandom,
    environment: {},
    directory: '.',
    commandLine: 'proxwright',
    stdout: nowhere,
    stderr: nowhere,
    secrets: new KnownSecrets(),
    canAsk: false,
    stopRequested: () => new Promise(() => {}),
    ask: async () => undefined,
    ...part,
  };
  return { deps, warnings, errors };
}
