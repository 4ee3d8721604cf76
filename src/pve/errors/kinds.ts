/** Classifies errors of the API by their fields, never by their text. */
import { hasCode, isFamily, ProxwrightError, type Subject } from '../../base/errors.ts';

/**
 * Certainly without effect: the request never reached a worker, the server rejected it, or it was only a read, such as the
 * login before a change. It may be sent again.
 */
export function isNotExecuted(error: unknown): boolean {
  return error instanceof ProxwrightError && error.outcome === 'not-executed';
}

/** The request was sent and may have had its effect: observe the cluster before sending it again. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof ProxwrightError && error.outcome === 'unknown';
}

/** Another client holds a lock: nothing was changed, and a later retry may succeed. */
export function isLockContention(error: unknown): boolean {
  return isFamily(error, 'busy');
}

export function isNotFound(error: unknown, subject?: Subject): boolean {
  return hasCode(error, 'NOT_FOUND') && (subject === undefined || error.subject === subject);
}

/** The server or the connection to it failed. */
export function isConnectionTrouble(error: unknown): boolean {
  return hasCode(error, 'NOT_EXECUTED', 'UNREACHABLE', 'REQUEST_TIMEOUT', 'OUTCOME_UNKNOWN');
}

/** The network or the login failed. Tasks that are running on the server continue. */
export function isConnectionLost(error: unknown): boolean {
  return isFamily(error, 'connect') || hasCode(error, 'LOGIN_REFUSED', 'TICKET_EXPIRED');
}
