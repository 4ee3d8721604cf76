/**
 * The only error class. It contains one `Diagnostic`, and everything that a caller needs is a field that survives `with`.
 * Branch on the code or its family, never on text. A code belongs to one family and has one summary; both are defined only
 * here. Invariants are here too, because a failed one is such an error.
 */
import { type Diagnostic, type Facts, formatDiagnostic, type Where } from './diagnostics.ts';
import { type Hint, toHint } from './hint.ts';

/** Which party has to act. */
export type ErrorFamily =
  | 'spec'
  | 'connect'
  | 'auth'
  | 'api'
  | 'busy'
  | 'task'
  | 'file'
  | 'conflict'
  | 'hook'
  | 'ready'
  | 'state'
  | 'canceled'
  | 'bug';

/**
 * What is known about the effect of the failed request: it certainly had none, it may have had its effect, or the error
 * describes it completely.
 */
export type Outcome = 'not-executed' | 'unknown' | 'known';

interface CodeEntry {
  readonly family: ErrorFamily;
  readonly summary: string;
  /** `known` unless stated. */
  readonly outcome?: Outcome;
}

const CODES = {
  // spec: the author of the file
  UNKNOWN_FIELD: { family: 'spec', summary: 'Unknown field' },
  BAD_VALUE: { family: 'spec', summary: 'Bad value' },
  MISSING_REFERENCE: { family: 'spec', summary: 'Missing reference' },
  UNREADABLE_FILE: { family: 'spec', summary: 'File cannot be read' },
  UNWRITABLE_FILE: { family: 'spec', summary: 'File cannot be written' },
  // connect: network or TLS
  UNREACHABLE: { family: 'connect', summary: 'Server not reachable', outcome: 'not-executed' },
  CERT_UNTRUSTED: { family: 'connect', summary: 'Certificate not trusted', outcome: 'not-executed' },
  CERT_UNREADABLE: { family: 'connect', summary: 'Certificate file not usable' },
  NOT_EXECUTED: { family: 'connect', summary: 'Request not executed', outcome: 'not-executed' },
  OUTCOME_UNKNOWN: { family: 'connect', summary: 'Outcome unknown', outcome: 'unknown' },
  BAD_ANSWER: { family: 'connect', summary: 'Answer not understood' },
  REQUEST_TIMEOUT: { family: 'connect', summary: 'Request timed out', outcome: 'not-executed' },
  // auth: credentials or privileges
  LOGIN_REFUSED: { family: 'auth', summary: 'Login refused' },
  BAD_CREDENTIALS: { family: 'auth', summary: 'Credentials malformed' },
  TICKET_EXPIRED: { family: 'auth', summary: 'Ticket no longer accepted' },
  PRIVILEGE_MISSING: { family: 'auth', summary: 'Privilege missing' },
  ROOT_ONLY: { family: 'auth', summary: 'Only root@pam may do this' },
  // api: Proxmox refused the request
  PARAMETER_REJECTED: { family: 'api', summary: 'Parameter rejected' },
  NOT_FOUND: { family: 'api', summary: 'Not found' },
  ALREADY_EXISTS: { family: 'api', summary: 'Already exists' },
  ALREADY_RUNNING: { family: 'api', summary: 'Already running' },
  NOT_RUNNING: { family: 'api', summary: 'Not running' },
  NOT_IMPLEMENTED: { family: 'api', summary: 'Not offered by this server' },
  NO_QUORUM: { family: 'api', summary: 'Cluster has no quorum' },
  NO_SPACE: { family: 'api', summary: 'No space left' },
  NO_NODE_FITS: { family: 'conflict', summary: 'No node fits' },
  PROTECTED: { family: 'api', summary: 'Protection is on' },
  IN_USE: { family: 'api', summary: 'Still in use' },
  AGENT_UNAVAILABLE: { family: 'api', summary: 'Guest agent not available' },
  SERVER_FAULT: { family: 'api', summary: 'Server refused the request' },
  // busy: another client holds a lock, and the time limit has passed
  GUEST_LOCKED: { family: 'busy', summary: 'Guest locked' },
  CONFIG_LOCKED: { family: 'busy', summary: 'Configuration busy' },
  STORAGE_LOCKED: { family: 'busy', summary: 'Storage busy' },
  CLUSTER_LOCKED: { family: 'busy', summary: 'Cluster file busy' },
  // task: a task ran and failed
  TASK_FAILED: { family: 'task', summary: 'Task failed' },
  TASK_VANISHED: { family: 'task', summary: 'Task vanished' },
  TASK_TIMEOUT: { family: 'task', summary: 'Task took too long' },
  // file: an image that is transferred into a storage
  FILE_DIFFERS: { family: 'file', summary: 'Another file has this name' },
  CHECKSUM_MISMATCH: { family: 'file', summary: 'Checksum does not match' },
  DOWNLOAD_FAILED: { family: 'file', summary: 'Download failed' },
  IMAGE_REFUSED: { family: 'file', summary: 'Image not accepted' },
  UNPACK_FAILED: { family: 'file', summary: 'Image cannot be unpacked' },
  // conflict: the cluster is not in the state that the plan observed
  PLAN_STALE: { family: 'conflict', summary: 'Plan is stale' },
  PLAN_UNTRUSTED: { family: 'conflict', summary: 'Plan is not trusted' },
  VMID_TAKEN: { family: 'conflict', summary: 'VM id taken' },
  ADDRESS_TAKEN: { family: 'conflict', summary: 'Address in use' },
  AMBIGUOUS: { family: 'conflict', summary: 'Several VMs match' },
  NOT_OURS: { family: 'conflict', summary: 'Not ours' },
  STALE_LOCK: { family: 'conflict', summary: 'Locked, and no task is running' },
  CANNOT_SNAPSHOT: { family: 'conflict', summary: 'Snapshot is not possible' },
  CANNOT_MOVE: { family: 'conflict', summary: 'VM cannot be moved' },
  CONFIG_CHANGED: { family: 'conflict', summary: 'Configuration changed meanwhile' },
  DATA_KEPT: { family: 'conflict', summary: 'Disks are marked as kept' },
  VOLUME_LEFT: { family: 'conflict', summary: 'Volume left behind' },
  // hook: a program on this machine
  HOOK_FAILED: { family: 'hook', summary: 'Hook failed' },
  HOOK_UNKNOWN: { family: 'conflict', summary: 'Hook may have run' },
  // ready: the VM exists but did not become ready
  AGENT_SILENT: { family: 'ready', summary: 'Guest agent silent' },
  NO_ADDRESS: { family: 'ready', summary: 'No address' },
  PORT_CLOSED: { family: 'ready', summary: 'Port closed' },
  CHECK_FAILED: { family: 'ready', summary: 'Check in the guest failed' },
  ROLL_STOPPED: { family: 'ready', summary: 'Not taken down' },
  // state: the files that Proxwright keeps
  STATE_LOCKED: { family: 'state', summary: 'State is in use' },
  STATE_TOO_NEW: { family: 'state', summary: 'State written by a newer version' },
  STATE_DAMAGED: { family: 'state', summary: 'State damaged' },
  STATE_LOST: { family: 'state', summary: 'VMs of this stack are not in its state' },
  STATE_FORKED: { family: 'state', summary: 'Another copy of this stack is in use' },
  STATE_MOVED: { family: 'state', summary: 'State was moved elsewhere' },
  LOCK_LOST: { family: 'state', summary: 'Lock of the state is lost' },
  STATE_UNREACHABLE: { family: 'state', summary: 'Store of the state does not answer' },
  STATE_UNWRITABLE: { family: 'state', summary: 'State cannot be read or written' },
  // canceled: the user stopped it
  CANCELED: { family: 'canceled', summary: 'Canceled' },
  // bug: Proxwright itself
  INVARIANT: { family: 'bug', summary: 'Internal error' },
  STALLED: { family: 'bug', summary: 'Nothing left to wait for' },
} as const satisfies Readonly<Record<string, CodeEntry>>;

export type ErrorCode = keyof typeof CODES;

export type CodeOf<Family extends ErrorFamily> = {
  [Code in ErrorCode]: (typeof CODES)[Code]['family'] extends Family ? Code : never;
}[ErrorCode];

export const ERROR_CODES = Object.keys(CODES) as readonly ErrorCode[]; // the keys of a constant

/** What an error is about, if the code alone does not say it: what was not found. */
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

export interface ErrorInit<Code extends ErrorCode = ErrorCode> {
  readonly code: Code;
  readonly detail: string;
  readonly where?: Where | undefined;
  readonly hint?: Hint | string | undefined;
  readonly subject?: Subject | undefined;
  readonly facts?: Facts | undefined;
  /** Only if it differs from the outcome of the code. */
  readonly outcome?: Outcome | undefined;
  readonly cause?: unknown;
}

/** Context that an outer layer adds or replaces; everything else stays. */
export interface MoreContext {
  /** Added to the known parts of `where`. */
  readonly where?: Where;
  /** Replaces the detail. */
  readonly detail?: string;
  /** An additional line below the detail. */
  readonly addedDetail?: string;
  /** Replaces the hint. */
  readonly hint?: Hint | string | undefined;
}

export class ProxwrightError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly subject: Subject | undefined;
  readonly outcome: Outcome;
  readonly diagnostic: Diagnostic;

  constructor(init: ErrorInit<Code>) {
    const diagnostic = diagnosticOf(init);
    super(formatDiagnostic(diagnostic), init.cause === undefined ? undefined : { cause: init.cause });
    this.name = 'ProxwrightError';
    this.code = init.code;
    this.subject = init.subject;
    this.outcome = init.outcome ?? entryOf(init.code).outcome ?? 'known';
    this.diagnostic = diagnostic;
  }

  get family(): ErrorFamily {
    return entryOf(this.code).family;
  }

  get hint(): Hint | undefined {
    return this.diagnostic.hint;
  }

  /** A copy with more context. */
  with(more: MoreContext): ProxwrightError<Code> {
    const { code, subject, outcome, cause } = this;
    const { detail, where, hint, facts } = this.diagnostic;
    const added = more.addedDetail === undefined ? '' : `\n${more.addedDetail}`;
    const result = new ProxwrightError({
      code,
      subject,
      outcome,
      cause,
      detail: `${more.detail ?? detail}${added}`,
      where: where || more.where ? { ...where, ...more.where } : undefined,
      hint: more.hint ?? hint,
      facts,
    });
    if (this.stack !== undefined) result.stack = this.stack;
    return result;
  }
}

export function hasCode<Code extends ErrorCode>(
  error: unknown,
  ...codes: readonly Code[]
): error is ProxwrightError<Code> {
  return error instanceof ProxwrightError && codes.some((code) => code === error.code);
}

export function isFamily<Family extends ErrorFamily>(
  error: unknown,
  ...families: readonly Family[]
): error is ProxwrightError<CodeOf<Family>> {
  return error instanceof ProxwrightError && families.some((family) => family === error.family);
}

/** The user or the caller stopped it. */
export function canceled(detail = 'Stopped on request.', cause?: unknown): ProxwrightError<'CANCELED'> {
  return new ProxwrightError({ code: 'CANCELED', detail, cause });
}

export function isCanceled(error: unknown): error is ProxwrightError<'CANCELED'> {
  return hasCode(error, 'CANCELED');
}

/** Any thrown value as a `Diagnostic`, so that no front end prints a stack trace. */
export function toDiagnostic(thrown: unknown): Diagnostic {
  if (thrown instanceof ProxwrightError) return thrown.diagnostic;
  const said = thrown instanceof Error ? thrown.message : String(thrown);
  return diagnosticOf({
    code: 'INVARIANT',
    detail: `${said.replace(/\.?$/, '.')} This is a defect of Proxwright, not of your setup.`,
    hint: 'Please report it together with the command you ran; --log-level debug shows more.',
  });
}

function diagnosticOf({ code, detail, where, hint, facts, cause }: ErrorInit): Diagnostic {
  return {
    severity: 'error',
    code,
    summary: entryOf(code).summary,
    detail,
    ...(where && { where }),
    ...(hint !== undefined && { hint: toHint(hint) }),
    ...(facts && { facts }),
    ...(cause instanceof ProxwrightError && { cause: cause.diagnostic }),
  };
}

const entryOf = (code: ErrorCode): CodeEntry => CODES[code];

/** Invariants stay on in production: a failed one is a bug, and stopping is better than provisioning nonsense. */
export function invariant(condition: unknown, detail: string): asserts condition {
  if (!condition) throw new ProxwrightError({ code: 'INVARIANT', detail });
}

/** Ends an exhaustive `switch`: the compiler reports an unhandled variant. */
export function assertNever(value: never): never {
  throw new ProxwrightError({ code: 'INVARIANT', detail: `Unhandled variant: ${JSON.stringify(value)}.` });
}
