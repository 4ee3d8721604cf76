/** Questions that callers ask about an error of the API. They answer from its fields, never from text. */
import { hasCode, isFamily, ProxwrightError, type Subject } from '../../base/errors.ts';

/**
 * Certain to have had no effect: it never reached a worker, the server turned it away, or it was only a question, such
 * as the login without which a change is not sent at all. It may simply be sent again.
 */
export function isNotExecuted(error: unknown): boolean {
  return error instanceof ProxwrightError && error.outcome === 'not-executed';
}

/** A request that was sent and may have had its effect: read the world before sending it again. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof ProxwrightError && error.outcome === 'unknown';
}

/** Another client holds a lock: nothing was changed, and trying again later is right. */
export function isLockContention(error: unknown): boolean {
  return isFamily(error, 'busy');
}

export function isNotFound(error: unknown, subject?: Subject): boolean {
  return hasCode(error, 'NOT_FOUND') && (subject === undefined || error.subject === subject);
}

/** The server or the way to it failed just now; the request was only a question. */
export function isConnectionTrouble(error: unknown): boolean {
  return hasCode(error, 'NOT_EXECUTED', 'UNREACHABLE', 'REQUEST_TIMEOUT', 'OUTCOME_UNKNOWN');
}

/** The network or the login is gone. Whatever the server has begun goes on without us. */
export function isSightLost(error: unknown): boolean {
  return isFamily(error, 'connect') || hasCode(error, 'LOGIN_REFUSED', 'TICKET_EXPIRED');
}
