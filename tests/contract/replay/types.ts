/** The shape of a recorded scenario file: what was sent to a real Proxmox VE, and what it answered. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Node, type, id and user of a UPID that an answer returned. */
export interface UpidShape {
  readonly node: string;
  readonly type: string;
  readonly id: string;
  readonly user: string;
}

/** One answer as it came over the wire; `body` is parsed JSON, a string if it was not JSON, `null` if empty. */
export interface Answer {
  readonly status: number;
  readonly reason: string;
  readonly body: Json;
}

/** An answer as recorded: literal values and placeholders. */
export interface RecordedAnswer extends Answer {
  readonly upid?: UpidShape;
}

export interface MultipartPart {
  readonly name: string;
  readonly filename?: string;
  readonly value?: Json;
  /** Instead of `value`: so many bytes of this value. */
  readonly fill?: { readonly size: number; readonly byte: number };
}

/** What makes up one HTTP request. */
export interface RequestParts {
  readonly auth?: string;
  readonly method: string;
  /** Below `/api2/json`. */
  readonly path: string;
  readonly params?: JsonObject;
  readonly encoding?: 'json' | 'raw' | 'multipart';
  readonly raw?: string;
  readonly contentType?: string;
  readonly parts?: readonly MultipartPart[];
  readonly csrf?: 'none' | 'wrong';
  readonly authStyle?: 'space';
  /** No Content-Length: the body goes out in chunks. */
  readonly chunked?: boolean;
}

/** How strictly an answer is compared. */
export interface Strictness {
  /** `true`: not compared at all; a list: these paths are not compared (`*` at the end: everything below). */
  readonly loose?: boolean | readonly string[];
  /** Lists of objects are compared with their order. */
  readonly ordered?: boolean;
}

interface StepBase {
  readonly id: string;
  readonly note?: string;
  readonly cleanup?: boolean;
}

export interface RequestStep extends StepBase, RequestParts, Strictness {
  readonly kind: 'request';
  readonly response: RecordedAnswer;
  /** Further answers the real server gave to the same step. */
  readonly allowed?: readonly RecordedAnswer[];
  /** The word under which later steps use the API token that this answer returns. */
  readonly token?: string;
  readonly ms: number;
}

/** A finished task: the body of `…/status` and the text of all lines of `…/log`. */
export interface TaskOutcome {
  readonly status: Json;
  readonly log: readonly string[];
}

export interface AwaitStep extends StepBase, Strictness {
  readonly kind: 'await';
  readonly auth?: string;
  readonly task: string;
  readonly optional?: boolean;
  readonly response: TaskOutcome;
  readonly allowed?: readonly TaskOutcome[];
  readonly ms: number;
}

interface SleepStep extends StepBase {
  readonly kind: 'sleep';
  readonly ms: number;
}

export interface ParallelStep extends StepBase {
  readonly kind: 'parallel';
  readonly requests: readonly RequestStep[];
  /** Which request got which of the recorded answers is free. */
  readonly orderFree?: boolean;
  /** Each answer must be one of the recorded ones, in any number. */
  readonly anyOf?: boolean;
  readonly loose?: boolean;
}

export interface AwaitGroupStep extends StepBase {
  readonly kind: 'awaitgroup';
  readonly auth?: string;
  readonly tasks: readonly string[];
  readonly responses: readonly TaskOutcome[];
  readonly expectOk?: number;
  readonly loose?: boolean;
}

export interface PollStep extends StepBase {
  readonly kind: 'poll';
  readonly request: RequestParts & Strictness;
  /** In words, for the reader. */
  readonly until: string;
  readonly samples: readonly PollSample[];
  readonly allowed?: readonly RecordedAnswer[];
  readonly allowedFinal?: readonly RecordedAnswer[];
  readonly loose?: boolean;
  readonly every_ms: number;
  readonly timeout_ms: number;
}

interface PollSample {
  readonly t: number;
  readonly response: RecordedAnswer;
}

export type Step = RequestStep | AwaitStep | SleepStep | ParallelStep | AwaitGroupStep | PollStep;

export interface Scenario {
  readonly scenario: string;
  readonly covers: Json;
  readonly pve: Json;
  readonly steps: readonly Step[];
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `Array.isArray` does not narrow readonly arrays. */
export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** The member of an object, and nothing for anything that is not one. */
export function member(value: Json | undefined, key: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
