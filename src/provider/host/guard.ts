/**
 * Between the calls of the protocol and the provider. No failure leaves as an error of the connection: the host would show
 * it as a broken plugin and forget what stands. What is thrown becomes a diagnostic, and the state that comes with it is the
 * last one known to be true.
 */
import { ProxwrightError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { redact, type Secret } from '../../base/secret.ts';
import type { Diagnostic } from '../protocol/generated/tfplugin6.generated.ts';
import type { Provider, ProviderDiagnostic } from '../provider.ts';
import type { Schema } from '../schema/model.ts';
import { diagnosticMessage, diagnosticOfThrown } from './diagnostics.ts';

export interface GuardOptions {
  /** Called for every request; loads once. */
  readonly provider: () => Promise<Provider>;
  readonly log: Logger;
  readonly secrets: Iterable<Secret>;
}

/** Does something for the host; `onFailure` says what is true if that fails. */
export type Guard = <Response extends object>(
  call: string,
  act: (provider: Provider) => Promise<Response>,
  onFailure?: () => NoInfer<Partial<Response>>,
) => Promise<Response>;

export function createGuard({ provider, log, secrets }: GuardOptions): Guard {
  return async <Response extends object>(
    call: string,
    act: (provider: Provider) => Promise<Response>,
    onFailure?: () => Partial<Response>,
  ) => {
    try {
      return await act(await provider());
    } catch (thrown) {
      log.log('error', `${call} failed`, { error: thrown instanceof Error ? thrown.stack : String(thrown) });
      const diagnostic = diagnosticOfThrown(thrown, call);
      const harmless = { ...diagnostic, detail: redact(diagnostic.detail, secrets) };
      // Every response has this list, and everything else in it may be left out.
      return { ...onFailure?.(), diagnostics: [diagnosticMessage(harmless, {})] } as unknown as Response;
    }
  };
}

export function messages(diagnostics: readonly ProviderDiagnostic[], schema: Schema): Diagnostic[] {
  return diagnostics.map((diagnostic) => diagnosticMessage(diagnostic, schema.attributes));
}

/** The host asks only for what the schema offers; a state may still name what another version had. */
export function named<Thing>(things: ReadonlyMap<string, Thing>, name: string): Thing {
  const thing = things.get(name);
  if (thing !== undefined) return thing;
  throw new ProxwrightError({
    code: 'MISSING_REFERENCE',
    detail: `This version of the provider has no ${name}.`,
    hint: 'Use the version that made it, or remove it from the state.',
  });
}
