/** The provider's configuration over the life of a process: unknown, invalid, or in force. */
import { setMaxListeners } from 'node:events';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { canceled } from '../../base/errors.ts';
import type { Deps, DepsOf } from '../adapter/deps.ts';
import type { CtyObject } from '../cty/value.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import { diagnosticAt } from '../values/diagnostics.ts';
import { findConnection } from './connection.ts';
import type { ProcessDeps } from './deps.ts';
import { readSettings } from './settings.ts';
import { CONFIGURATION_SCHEMA } from './table.ts';

export class Configuration {
  readonly schema = CONFIGURATION_SCHEMA;
  readonly #processDeps: ProcessDeps;
  readonly #stopping = new AbortController();
  #deps: Deps | undefined;

  constructor(processDeps: ProcessDeps) {
    this.#processDeps = processDeps;
    // Many pending requests listen to it.
    setMaxListeners(0, this.#stopping.signal);
  }

  /** Undefined until all of the configuration is known and valid. */
  readonly depsOf: DepsOf = () => this.#deps;

  /** What can be checked without the environment, which may differ at apply. */
  validate(config: CtyObject): readonly ProviderDiagnostic[] {
    return readSettings(config).problems.map(shown);
  }

  async configure(config: CtyObject, hostVersion: string): Promise<readonly ProviderDiagnostic[]> {
    this.#deps = undefined;
    const { log, environment, directory = '.' } = this.#processDeps;
    const { settings, unknown, problems } = readSettings(config);
    if (!settings) return problems.map(shown);
    if (unknown.size > 0) {
      // While planning that is not an error; a call that needs the server reports it.
      log.log('info', 'The configuration of the provider is not known yet.', { unknown: [...unknown].join(', ') });
      return [];
    }
    const { connection, diagnostics } = await findConnection(settings, { environment, directory });
    if (connection) {
      const { signal } = this.#stopping;
      // With it comes the engine, which a process that only validates does not need.
      const { depsFor } = await import('./deps.ts');
      this.#deps = depsFor({ settings, connection, processDeps: this.#processDeps, signal });
      log.log('debug', 'configured', { endpoint: connection.endpoint.url, host: hostVersion });
    }
    return diagnostics.map(shown);
  }

  stop(): void {
    this.#stopping.abort(canceled());
  }
}

const shown = (diagnostic: Diagnostic) => diagnosticAt(diagnostic, CONFIGURATION_SCHEMA.attributes);
