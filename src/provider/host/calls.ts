/**
 * How a call of the protocol becomes a call of the provider: typed handlers behind the byte methods of the gRPC server, and a
 * guard around the provider. No failure leaves as an error of the connection, because the host would show a broken plugin
 * and forget what exists. What is thrown becomes a diagnostic, next to the last state that is known to be true.
 */
import type { DescMessage, DescService, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { ProxwrightError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { KnownSecrets } from '../../base/secret.ts';
import { visibleText } from '../../base/text/safe-text.ts';
import { CALLS, MESSAGES } from '../protocol/generated/tfplugin6.tables.generated.ts';
import { type Call, readMessage, writeMessage } from '../protocol/wire.ts';
import type { Provider } from '../provider.ts';
import type { Method } from './grpc-server.ts';
import { type DiagnosticMessage, diagnosticMessage, diagnosticOfThrown } from './messages.ts';

/** One function for every call of the service. The signal fires when the host has given up the call. */
export type Handlers<Service extends DescService> = {
  readonly [Name in keyof Service['method']]: Service['method'][Name] extends {
    readonly input: infer Input extends DescMessage;
    readonly output: infer Output extends DescMessage;
  }
    ? (request: MessageShape<Input>, call: AbortSignal) => Promise<MessageInitShape<Output>>
    : never;
};

export function methodsOf<Service extends DescService>(handlers: Handlers<Service>): Map<string, Method> {
  const methods = CALLS.map((call): [string, Method] => {
    // The type above makes sure that each handler exists and takes the message of its method.
    const handler = handlers[call.name as keyof Handlers<Service>] as unknown as Handler;
    return [call.path, { kind: 'unary', handle: (message, signal) => answer(call, handler, message, signal) }];
  });
  return new Map(methods);
}

type Handler = (request: object, call: AbortSignal) => Promise<Readonly<Record<string, unknown>>>;

async function answer(
  { input, output }: Call,
  handler: Handler,
  message: Uint8Array,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const response = await handler(readMessage(MESSAGES, input, message), signal);
  return writeMessage(MESSAGES, output, response);
}

export interface GuardOptions {
  /** Called for every request; loads the provider once. */
  readonly provider: () => Promise<Provider>;
  readonly log: Logger;
  /** Removed from every diagnostic. */
  readonly secrets: KnownSecrets;
}

/** Runs `act` for the host; `onFailure` returns what is still true if it fails. */
export type Guard = <Response extends object>(
  call: string,
  act: (provider: Provider) => Promise<Response>,
  onFailure?: () => NoInfer<Partial<Response>>,
) => Promise<Response>;

export function createGuard({ provider, log, secrets }: GuardOptions): Guard {
  const clean = (text: string) => visibleText(secrets.redact(text));
  /** The host prints diagnostics as they are, also what they quote of a server or a guest. */
  const harmless = <Response extends object>(response: Response): Response => {
    if (!('diagnostics' in response) || !Array.isArray(response.diagnostics)) return response;
    const diagnostics = (response.diagnostics as readonly DiagnosticMessage[]).map((each) => ({
      ...each,
      summary: clean(each.summary),
      detail: clean(each.detail),
    }));
    return { ...response, diagnostics };
  };
  return async <Response extends object>(
    call: string,
    act: (provider: Provider) => Promise<Response>,
    onFailure?: () => Partial<Response>,
  ) => {
    try {
      return harmless(await act(await provider()));
    } catch (thrown) {
      log.log('error', `${call} failed`, { error: thrown instanceof Error ? thrown.stack : String(thrown) });
      const diagnostic = diagnosticOfThrown(thrown, call);
      // Every response has this list, and everything else in a response is optional.
      return harmless({ ...onFailure?.(), diagnostics: [diagnosticMessage(diagnostic, {})] } as unknown as Response);
    }
  };
}

/** The host asks only for what the schema offers, but a state may name what another version offered. */
export function named<Thing>(things: ReadonlyMap<string, Thing>, name: string): Thing {
  const thing = things.get(name);
  if (thing !== undefined) return thing;
  throw new ProxwrightError({
    code: 'MISSING_REFERENCE',
    detail: `This version of the provider has no ${name}.`,
    hint: 'Use the version that made it, or remove it from the state.',
  });
}
