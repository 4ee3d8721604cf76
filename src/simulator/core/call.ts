/** What a handler receives: one authenticated, routed, permitted and validated request. */

import type { Method } from '../../base/transport.ts';
import type { EndpointParams } from '../schema/api-params.generated.ts';
import type { RawParams } from '../schema/types.ts';
import type { ParamTexts } from '../schema/validate.ts';
import type { Runtime } from './runtime.ts';
import type { Job } from './tasks.ts';

/** The user or token that sent the request. */
export interface Caller {
  readonly userid: string;
  /** Set when an API token was used. */
  readonly tokenid: string | undefined;
  /** `user@realm` or `user@realm!token`: what Proxmox calls the auth user. */
  readonly authid: string;
  /**
   * Rule [source AC RPCEnvironment.pm check_api2_permissions]: only a real login of root@pam is root; its tokens are not.
   */
  readonly isRoot: boolean;
}

/** `Params` is the type of the parameters that are read from it: functions shared by several endpoints name only those. */
export interface Call<Params = unknown> {
  readonly runtime: Runtime;
  readonly caller: Caller;
  /** Path, query and body parameters after validation, typed by the facts about the endpoint. */
  readonly params: Params;
  /** The same parameters as text, for handlers that copy them into a configuration file. */
  readonly texts: ParamTexts;
  /** The node the call runs on: `{node}` of the path, else the entry node. */
  readonly node: string;
  /** Files of a multipart upload. */
  readonly upload?: Upload;
  /** Whether the caller holds all (or with `any`: one) of the privileges on the path. */
  may(path: string, privileges: readonly string[], options?: { any?: boolean }): boolean;
  /** Like `may`, but throws Proxmox's 403 text. */
  require(path: string, privileges: readonly string[], options?: { any?: boolean }): void;
  /** Calls the API in the caller's name, for a handler that is a client itself; throws a refusal. */
  request(method: Method, path: string, params: RawParams): Promise<unknown>;
  /** Starts a worker in the caller's name; the UPID is the usual answer of a handler. */
  fork(type: string, id: string, job: Job): string;
}

export interface Upload {
  readonly fileName: string;
  readonly sizeBytes: number;
  /** The whole content of a small file, the beginning of a large one. */
  readonly content: Uint8Array;
  readonly checksums: Readonly<Record<string, string>>;
  /** Name of the temporary file on the node, as it shows in the task log. */
  readonly temporaryName: string;
}

/** `GET /nodes/{node}/qemu/{vmid}/config`: method and path, written as in the API schema. */
export type EndpointName = keyof EndpointParams;

/** A call to one endpoint, with the parameters that the facts declare for it. */
export type CallTo<Name extends EndpointName> = Call<EndpointParams[Name]>;

/** A handler's result is the `data` of the answer; `Paged` adds `total`. */
export type Handler<Params = never> = (call: Call<Params>) => unknown;

/** The handlers of one file. The compiler refuses an endpoint or a parameter that the facts do not know. */
export type Routes = { readonly [Name in EndpointName]?: Handler<EndpointParams[Name]> };

/** A file to download instead of JSON. */
export class Download {
  readonly filename: string;
  readonly text: string;

  constructor(filename: string, text: string) {
    this.filename = filename;
    this.text = text;
  }
}

export class Paged {
  readonly data: unknown;
  readonly total: number;

  constructor(data: unknown, total: number) {
    this.data = data;
    this.total = total;
  }
}
