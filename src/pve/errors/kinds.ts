/** Questions that callers ask about an error. They answer from codes and from what was recognised, never from text. */
import { ProxwrightError as Base, BusyError, ConnectError, type ProxwrightError } from '../../base/errors.ts';
import type { Subject } from './meaning.ts';

const SUBJECTS = new WeakMap<ProxwrightError, Subject>();

/** Remembers what it was that a server did not find. */
export function withSubject<E extends ProxwrightError>(error: E, subject: Subject | undefined): E {
  if (subject) SUBJECTS.set(error, subject);
  return error;
}

const OF_CHANGES = new WeakSet<ProxwrightError>();

/** Remembers that it was a change whose answer cannot be read. */
export function ofChange<E extends ProxwrightError>(error: E): E {
  OF_CHANGES.add(error);
  return error;
}

/**
 * Certain to have had no effect: it never reached a worker, nobody let it in, or it was only a question, such as the
 * login without which a change is not sent at all. It may simply be sent again.
 */
export function isNotExecuted(error: unknown): boolean {
  return hasCode(error, 'NOT_EXECUTED', 'UNREACHABLE', 'CERT_UNTRUSTED', 'REQUEST_TIMEOUT');
}

/** A request that was sent and may have had its effect: read the world before sending it again. */
export function isOutcomeUnknown(error: unknown): boolean {
  if (hasCode(error, 'OUTCOME_UNKNOWN')) return true;
  // An answer came, so the request was carried out; only what it said is lost.
  return error instanceof Base && OF_CHANGES.has(error);
}

/** Somebody else holds a lock: nothing was changed, and trying again later is right. */
export function isLockContention(error: unknown): boolean {
  return error instanceof BusyError;
}

export function isNotFound(error: unknown, subject?: Subject): boolean {
  if (!(error instanceof Base) || error.code !== 'NOT_FOUND') return false;
  return subject === undefined || SUBJECTS.get(error) === subject;
}

/** The server or the way to it failed just now; the request was only a question. */
export function isConnectionTrouble(error: unknown): boolean {
  return hasCode(error, 'NOT_EXECUTED', 'UNREACHABLE', 'REQUEST_TIMEOUT', 'OUTCOME_UNKNOWN');
}

/** The network or the login is gone. Whatever the server has begun goes on without us. */
export function isSightLost(error: unknown): boolean {
  return error instanceof ConnectError || hasCode(error, 'LOGIN_REFUSED', 'TICKET_EXPIRED');
}

function hasCode(error: unknown, ...codes: readonly ProxwrightError['code'][]): error is ProxwrightError {
  return error instanceof Base && codes.includes(error.code);
}
