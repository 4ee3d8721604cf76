/** The kinds of error that a phrase of the server can stand for: a code, how to build its error, and what was missing. */
import {
  ApiError,
  AuthError,
  BusyError,
  ConflictError,
  ConnectError,
  type ErrorCode,
  type ErrorInit,
  FileError,
  type ProxwrightError,
} from '../../base/errors.ts';

/** What was not found. */
export type Subject =
  | 'guest'
  | 'node'
  | 'storage'
  | 'volume'
  | 'disk'
  | 'snapshot'
  | 'pool'
  | 'task'
  | 'mapping'
  | 'other';

type Init = Omit<ErrorInit<ErrorCode>, 'code'>;

export interface Meaning {
  readonly code: ErrorCode;
  readonly build: (init: Init) => ProxwrightError;
  readonly subject?: Subject;
}

export const api = (code: ApiError['code']): Meaning => ({ code, build: (init) => new ApiError({ ...init, code }) });
export const auth = (code: AuthError['code']): Meaning => ({ code, build: (init) => new AuthError({ ...init, code }) });
export const busy = (code: BusyError['code']): Meaning => ({ code, build: (init) => new BusyError({ ...init, code }) });
export const conflict = (code: ConflictError['code']): Meaning => ({
  code,
  build: (init) => new ConflictError({ ...init, code }),
});
export const connect = (code: ConnectError['code']): Meaning => ({
  code,
  build: (init) => new ConnectError({ ...init, code }),
});
export const file = (code: FileError['code']): Meaning => ({ code, build: (init) => new FileError({ ...init, code }) });
export const missing = (subject: Subject): Meaning => ({ ...api('NOT_FOUND'), subject });
