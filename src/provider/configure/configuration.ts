/** The provider's configuration over the life of a process: unknown, wrong, or in force. */
import { setMaxListeners } from 'node:events';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { canceled, ProxwrightError } from '../../base/errors.ts';
import type { CtyObject } from '../cty/value.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import type { Surroundings, SurroundingsOf } from '../surroundings.ts';
import { diagnosticAt } from '../values/diagnostics.ts';
import { findConnection } from './connection.ts';
import { readSettings } from './settings.ts';
import { type ProviderDoors, surroundingsFor } from './surroundings.ts';
import { CONFIGURATION_SCHEMA } from './table.ts';

export class Configuration {
  readonly schema = CONFIGURATION_SCHEMA;
  readonly #doors: ProviderDoors;
  readonly #stopping = new AbortController();
  #surroundings: Surroundings | undefined;

  constructor(doors: ProviderDoors) {
    this.#doors = doors;
    // Every request under way listens to it, and they are many.
    setMaxListeners(0, this.#stopping.signal);
  }

  /** Undefined until all of the configuration is known and right. */
  readonly surroundingsOf: SurroundingsOf = () => this.#surroundings;

  /** What can be told without the environment, which may be another one when it counts. */
  validate(config: CtyObject): readonly ProviderDiagnostic[] {
    return readSettings(config).problems.map(shown);
  }

  async configure(config: CtyObject, hostVersion: string): Promise<readonly ProviderDiagnostic[]> {
    this.#surroundings = undefined;
    const { log, environment, directory = '.' } = this.#doors;
    const { settings, unknown, problems } = readSettings(config);
    if (!settings) return problems.map(shown);
    if (unknown.size > 0) {
      // While planning that is no mistake: whoever needs the server says so then.
      log.log('info', 'The configuration of the provider is not known yet.', { unknown: [...unknown].join(', ') });
      return [];
    }
    const { connection, diagnostics } = await findConnection(settings, { environment, directory });
    if (connection) {
      const { signal } = this.#stopping;
      this.#surroundings = surroundingsFor({ settings, connection, doors: this.#doors, signal });
      log.log('debug', 'configured', { endpoint: connection.endpoint.url, host: hostVersion });
    }
    return diagnostics.map(shown);
  }

  stop(): void {
    this.#stopping.abort(canceled());
  }
}

/** For calls that cannot be answered without a server. */
export function knownSurroundings(surroundingsOf: SurroundingsOf): Surroundings {
  const surroundings = surroundingsOf();
  if (surroundings) return surroundings;
  throw new ProxwrightError({
    code: 'MISSING_REFERENCE',
    detail: 'The configuration of the provider is not known yet, so no server can be asked.',
    hint: 'Give endpoint and token values that are known before apply, or apply what they depend on first: -target.',
  });
}

const shown = (diagnostic: Diagnostic) => diagnosticAt(diagnostic, CONFIGURATION_SCHEMA.attributes);
