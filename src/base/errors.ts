/**
 * The error classes: each says whose move it is. Branch on `code`, never on text.
 * A code belongs to exactly one class and has exactly one summary; both are stated here and nowhere else.
 */
import { type Diagnostic, formatDiagnostic, type Where } from './diagnostics.ts';

const SUMMARIES = {
  // SpecError: the author of the file
  UNKNOWN_FIELD: 'Unknown field',
  BAD_VALUE: 'Bad value',
  MISSING_REFERENCE: 'Missing reference',
  UNREADABLE_FILE: 'File cannot be read',
  UNWRITABLE_FILE: 'File cannot be written',
  // ConnectError: network or TLS
  UNREACHABLE: 'Server not reachable',
  CERT_UNTRUSTED: 'Certificate not trusted',
  CERT_UNREADABLE: 'Certificate file not usable',
  NOT_EXECUTED: 'Request not executed',
  OUTCOME_UNKNOWN: 'Outcome unknown',
  BAD_ANSWER: 'Answer not understood',
  REQUEST_TIMEOUT: 'Request timed out',
  // AuthError: credentials or privileges
  LOGIN_REFUSED: 'Login refused',
  BAD_CREDENTIALS: 'Credentials malformed',
  TICKET_EXPIRED: 'Ticket no longer accepted',
  PRIVILEGE_MISSING: 'Privilege missing',
  ROOT_ONLY: 'Only root@pam may do this',
  // ApiError: Proxmox refused the request
  PARAMETER_REJECTED: 'Parameter rejected',
  NOT_FOUND: 'Not found',
  ALREADY_EXISTS: 'Already exists',
  ALREADY_RUNNING: 'Already running',
  NOT_RUNNING: 'Not running',
  NOT_IMPLEMENTED: 'Not offered by this server',
  NO_QUORUM: 'Cluster has no quorum',
  NO_SPACE: 'No space left',
  PROTECTED: 'Protection is on',
  IN_USE: 'Still in use',
  AGENT_UNAVAILABLE: 'Guest agent not available',
  SERVER_FAULT: 'Server refused the request',
  // BusyError: someone else holds a lock; the budget ran out
  GUEST_LOCKED: 'Guest locked',
  CONFIG_LOCKED: 'Configuration busy',
  STORAGE_LOCKED: 'Storage busy',
  CLUSTER_LOCKED: 'Cluster file busy',
  // TaskError: a task ran and failed
  TASK_FAILED: 'Task failed',
  TASK_VANISHED: 'Task vanished',
  TASK_TIMEOUT: 'Task took too long',
  // FileError: an image on its way into a storage
  FILE_DIFFERS: 'Another file has this name',
  CHECKSUM_MISMATCH: 'Checksum does not match',
  DOWNLOAD_FAILED: 'Download failed',
  IMAGE_REFUSED: 'Image not accepted',
  UNPACK_FAILED: 'Image cannot be unpacked',
  // ConflictError: the world is not what the plan saw
  PLAN_STALE: 'Plan is stale',
  VMID_TAKEN: 'VM id taken',
  NOT_OURS: 'Not ours',
  CONFIG_CHANGED: 'Configuration changed meanwhile',
  // ReadyError: the VM exists but did not come up
  AGENT_SILENT: 'Guest agent silent',
  NO_ADDRESS: 'No address',
  PORT_CLOSED: 'Port closed',
  CHECK_FAILED: 'Check in the guest failed',
  // StateError: our own memory
  STATE_LOCKED: 'State is in use',
  STATE_TOO_NEW: 'State written by a newer version',
  STATE_DAMAGED: 'State damaged',
  STATE_LOST: 'VMs of this stack are not in its state',
  STATE_UNWRITABLE: 'State cannot be read or written',
  // Canceled: the user stopped it
  CANCELED: 'Canceled',
  // Bug: us
  INVARIANT: 'Internal error',
  STALLED: 'Nothing left to wait for',
} as const;

export type ErrorCode = keyof typeof SUMMARIES;

export const ERROR_CODES = Object.keys(SUMMARIES) as readonly ErrorCode[]; // the keys of a constant

export interface ErrorInit<Code extends ErrorCode> {
  readonly code: Code;
  readonly detail: string;
  readonly where?: Where;
  readonly hint?: string;
  readonly cause?: unknown;
}

/** The base of all our errors: an `Error` that carries one `Diagnostic`. */
export abstract class ProxwrightError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly diagnostic: Diagnostic;

  constructor(init: ErrorInit<Code>) {
    const diagnostic = diagnosticOf(init);
    super(formatDiagnostic(diagnostic), init.cause === undefined ? undefined : { cause: init.cause });
    this.name = new.target.name;
    this.code = init.code;
    this.diagnostic = diagnostic;
  }

  /** A new error of the same class that says more about where it happened; this one stays as it is. */
  locatedAt(where: Where): ProxwrightError {
    const { code, detail, hint, where: known } = this.diagnostic;
    const Class = this.constructor as new (init: ErrorInit<ErrorCode>) => ProxwrightError; // `Canceled` has its own
    const located = new Class({
      code: code as ErrorCode, // made from one
      detail,
      where: { ...known, ...where },
      ...(hint !== undefined && { hint }),
      ...(this.cause !== undefined && { cause: this.cause }),
    });
    if (this.stack !== undefined) located.stack = this.stack;
    return located;
  }
}

export class SpecError extends ProxwrightError<
  'UNKNOWN_FIELD' | 'BAD_VALUE' | 'MISSING_REFERENCE' | 'UNREADABLE_FILE' | 'UNWRITABLE_FILE'
> {}

export class ConnectError extends ProxwrightError<
  | 'UNREACHABLE'
  | 'CERT_UNTRUSTED'
  | 'CERT_UNREADABLE'
  | 'NOT_EXECUTED'
  | 'OUTCOME_UNKNOWN'
  | 'BAD_ANSWER'
  | 'REQUEST_TIMEOUT'
> {}

export class AuthError extends ProxwrightError<
  'LOGIN_REFUSED' | 'BAD_CREDENTIALS' | 'TICKET_EXPIRED' | 'PRIVILEGE_MISSING' | 'ROOT_ONLY'
> {}

export class ApiError extends ProxwrightError<
  | 'PARAMETER_REJECTED'
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'ALREADY_RUNNING'
  | 'NOT_RUNNING'
  | 'NOT_IMPLEMENTED'
  | 'NO_QUORUM'
  | 'NO_SPACE'
  | 'PROTECTED'
  | 'IN_USE'
  | 'AGENT_UNAVAILABLE'
  | 'SERVER_FAULT'
> {}

export class BusyError extends ProxwrightError<
  'GUEST_LOCKED' | 'CONFIG_LOCKED' | 'STORAGE_LOCKED' | 'CLUSTER_LOCKED'
> {}

export class TaskError extends ProxwrightError<'TASK_FAILED' | 'TASK_VANISHED' | 'TASK_TIMEOUT'> {}

export class FileError extends ProxwrightError<
  'FILE_DIFFERS' | 'CHECKSUM_MISMATCH' | 'DOWNLOAD_FAILED' | 'IMAGE_REFUSED' | 'UNPACK_FAILED'
> {}

export class ConflictError extends ProxwrightError<'PLAN_STALE' | 'VMID_TAKEN' | 'NOT_OURS' | 'CONFIG_CHANGED'> {}

export class ReadyError extends ProxwrightError<'AGENT_SILENT' | 'NO_ADDRESS' | 'PORT_CLOSED' | 'CHECK_FAILED'> {}

export class StateError extends ProxwrightError<
  'STATE_LOCKED' | 'STATE_TOO_NEW' | 'STATE_DAMAGED' | 'STATE_LOST' | 'STATE_UNWRITABLE'
> {}

export class Canceled extends ProxwrightError<'CANCELED'> {
  constructor(detail = 'Stopped on request.', cause?: unknown) {
    super({ code: 'CANCELED', detail, cause });
  }

  /** Whoever stopped it knows where they were. */
  override locatedAt(): Canceled {
    return this;
  }
}

export class Bug extends ProxwrightError<'INVARIANT' | 'STALLED'> {}

/** Any thrown value as a `Diagnostic`, so that no front door ever prints a stack trace to a user. */
export function toDiagnostic(thrown: unknown): Diagnostic {
  if (thrown instanceof ProxwrightError) return thrown.diagnostic;
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  return {
    severity: 'error',
    code: 'INVARIANT',
    summary: SUMMARIES.INVARIANT,
    detail: `${detail.replace(/\.?$/, '.')} This is a defect of Proxwright, not of your setup.`,
    hint: 'Please report it together with the command you ran; --log-level debug shows more.',
  };
}

function diagnosticOf(init: ErrorInit<ErrorCode>): Diagnostic {
  return {
    severity: 'error',
    code: init.code,
    summary: SUMMARIES[init.code],
    detail: init.detail,
    ...(init.where && { where: init.where }),
    ...(init.hint !== undefined && { hint: init.hint }),
    ...(init.cause instanceof ProxwrightError && { cause: init.cause.diagnostic }),
  };
}
