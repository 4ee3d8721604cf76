/** What a handler is given: one authenticated, routed, permitted and validated request. */
import type { ParamValue } from '../schema/types.ts';
import type { Runtime } from './runtime.ts';
import type { Job } from './tasks.ts';

/** Who is asking. */
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

export type Params = Readonly<Record<string, ParamValue>>;

export interface Call {
  readonly runtime: Runtime;
  readonly caller: Caller;
  /** Path, query and body parameters after validation. */
  readonly params: Params;
  /** The node the call is carried out on: `{node}` of the path, else the entry node. */
  readonly node: string;
  /** Files of a multipart upload. */
  readonly upload?: Upload;
  /** Whether the caller holds all (or with `any`: one) of the privileges on the path. */
  may(path: string, privileges: readonly string[], options?: { any?: boolean }): boolean;
  /** Like `may`, but refuses with Proxmox's 403 text. */
  require(path: string, privileges: readonly string[], options?: { any?: boolean }): void;
  /** Starts a worker in the caller's name; the UPID is the usual answer of a handler. */
  fork(type: string, id: string, job: Job): string;
}

export interface Upload {
  readonly fileName: string;
  readonly sizeBytes: number;
  /** All of a small file, the beginning of a large one. */
  readonly content: Uint8Array;
  readonly checksums: Readonly<Record<string, string>>;
  /** Name of the temporary file on the node, as it shows in the task log. */
  readonly temporaryName: string;
}

/** A handler's result is the `data` of the answer; `Paged` adds `total`. */
export type Handler = (call: Call) => unknown | Promise<unknown>;

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

/** Routes of one file: `GET /nodes/{node}/qemu/{vmid}/config` → handler. The path is written as in the API schema. */
export type Routes = Readonly<Record<string, Handler>>;

export function text(params: Params, name: string): string | undefined {
  const value = params[name];
  return value === undefined || value === null ? undefined : Array.isArray(value) ? value.join(',') : String(value);
}

export function requiredText(params: Params, name: string): string {
  return text(params, name) ?? '';
}

export function integer(params: Params, name: string): number | undefined {
  const value = params[name];
  return value === undefined || value === null ? undefined : Number(value);
}

export function flag(params: Params, name: string): boolean | undefined {
  const value = params[name];
  return value === undefined || value === null ? undefined : Number(value) === 1;
}
