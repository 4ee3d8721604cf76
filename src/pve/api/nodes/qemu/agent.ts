/**
 * `/nodes/{node}/qemu/{vmid}/agent`: calls to the guest agent. Each call to a silent agent blocks one of the server's three
 * workers for 3 s, so all of them go through the client's limiter for agent calls.
 */
import { z } from 'zod';
import { ProxwrightError } from '../../../../base/errors.ts';
import type { Secret } from '../../../../base/secret.ts';
import type { Call, CallOptions } from '../../../exchange.ts';
import type { FormParams } from '../../../wire/encoding.ts';
import { anything, flag, maybe, numeric, text } from '../../shapes.ts';
import { type VmScope, vmPath } from './scope.ts';

const interfacesSchema = z.lazy(() =>
  z.array(
    z.looseObject({
      name: z.string(),
      'hardware-address': maybe(z.string()),
      'ip-addresses': maybe(
        z.array(
          z.looseObject({ 'ip-address': z.string(), 'ip-address-type': z.enum(['ipv4', 'ipv6']), prefix: numeric }),
        ),
      ),
    }),
  ),
);
export type GuestInterface = z.output<typeof interfacesSchema>[number];

const osInfoSchema = z.lazy(() =>
  z.looseObject({
    id: maybe(text),
    name: maybe(text),
    'pretty-name': maybe(text),
    version: maybe(text),
  }),
);
export type GuestOsInfo = z.output<typeof osInfoSchema>;

const execStatusSchema = z.lazy(() =>
  z.looseObject({
    exited: flag,
    exitcode: maybe(numeric),
    signal: maybe(numeric),
    'out-data': maybe(text),
    'err-data': maybe(text),
  }),
);
export type GuestExecStatus = z.output<typeof execStatusSchema>;

const fileSchema = z.lazy(() => z.looseObject({ content: z.string(), truncated: maybe(flag) }));

export class VmAgent {
  readonly #scope: VmScope;

  constructor(scope: VmScope) {
    this.#scope = scope;
  }

  async ping(options?: CallOptions): Promise<void> {
    await this.#result({ method: 'POST', path: this.#path('ping'), isQuestion: true }, anything, options);
  }

  networkGetInterfaces(options?: CallOptions): Promise<GuestInterface[]> {
    return this.#result({ method: 'GET', path: this.#path('network-get-interfaces') }, interfacesSchema, options);
  }

  getOsinfo(options?: CallOptions): Promise<GuestOsInfo> {
    return this.#result({ method: 'GET', path: this.#path('get-osinfo') }, osInfoSchema, options);
  }

  async getHostName(options?: CallOptions): Promise<string> {
    const shape = z.looseObject({ 'host-name': text });
    return (await this.#result({ method: 'GET', path: this.#path('get-host-name') }, shape, options))['host-name'];
  }

  /** Starts a program, not a shell line. Poll `execStatus` with the returned process id for the result. */
  async exec(
    command: readonly [string, ...string[]],
    input: { readonly 'input-data'?: string | Secret | undefined } = {},
    options?: CallOptions,
  ): Promise<number> {
    const call: Call = { method: 'POST', path: this.#path('exec'), params: { command, ...input } };
    return (await this.#call(call, z.looseObject({ pid: numeric }), options)).pid;
  }

  /** The agent forgets the process once it has reported `exited`, so a second call fails. */
  execStatus(pid: number, options?: CallOptions): Promise<GuestExecStatus> {
    return this.#call({ method: 'GET', path: this.#path('exec-status'), params: { pid } }, execStatusSchema, options);
  }

  fileRead(file: string, options?: CallOptions) {
    return this.#call({ method: 'GET', path: this.#path('file-read'), params: { file } }, fileSchema, options);
  }

  fileWrite(file: string, content: string | Secret, options?: CallOptions): Promise<void> {
    const params: FormParams = { file, content };
    return this.#call({ method: 'POST', path: this.#path('file-write'), params }, anything, options);
  }

  /** Generic commands report errors of the agent in a response with status 200. */
  async #result<T>(call: Call, shape: z.ZodType<T>, options?: CallOptions): Promise<T> {
    const failed = z.looseObject({ error: z.looseObject({ desc: maybe(text), class: maybe(text) }) });
    const envelope = z.looseObject({
      result: z.union([failed.transform(({ error }) => ({ error })), shape.transform((value) => ({ value }))]),
    });
    const { result } = await this.#call(call, envelope, options);
    if ('value' in result) return result.value;
    throw new ProxwrightError({
      code: 'SERVER_FAULT',
      detail: `The guest agent answered: "${result.error.desc ?? result.error.class ?? 'an error without a message'}".`,
      where: { request: `${call.method} ${call.path.shown}` },
    });
  }

  #call<T>(call: Call, shape: z.ZodType<T>, options?: CallOptions): Promise<T> {
    const { api } = this.#scope;
    return api.agentLimiter.run(() => api.call(call, shape, options), options?.signal);
  }

  #path(command: string) {
    return vmPath(this.#scope, `/agent/${command}`);
  }
}
