/** Builds our errors out of what went wrong on the wire, so that each one names the request and quotes the server. */
import type { Where } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, type Hint, setting } from '../../base/hint.ts';
import { redact, type Secret } from '../../base/secret.ts';
import type { TransportFailure, WireResponse } from '../../base/transport.ts';
import { findPhrase, type Phrase } from './phrases.ts';
import { privilegeHint } from './privileges.ts';
import { type ServerWords, serverWords } from './server-words.ts';

/** What is known about a request while it is under way. */
export interface RequestContext {
  /** Whether it can change something at the server; a question may be asked again at will. */
  readonly changes: boolean;
  /** Method and path, such as `POST /nodes/pve1/qemu/9000/clone`. */
  readonly request: string;
  readonly endpoint: string;
  readonly principal: string;
  readonly secrets: readonly Secret[];
}

/** An answer with a status other than 2xx. */
export function errorFromResponse(context: RequestContext, response: WireResponse): ProxwrightError {
  const words = serverWords(response, (text) => redact(text, context.secrets));
  return errorFromPhrase(context, words) ?? errorFromStatus(context, response.status, words);
}

function errorFromPhrase(context: RequestContext, words: ServerWords): ProxwrightError | undefined {
  // 59x is pveproxy speaking about its own connection, in words of the operating system.
  if (words.status >= 590) return undefined;
  const candidates = [...words.errors.map(({ text }) => text), words.message];
  const phrase =
    candidates.map(findPhrase).find((found) => found !== undefined && !isGeneral(found)) ?? findPhrase(words.message);
  if (!phrase) return undefined;
  const hint = hintFor(phrase, words.message, context.principal);
  return new ProxwrightError({
    code: phrase.code,
    subject: phrase.subject,
    detail: detailFor(phrase, context, words),
    where: whereOf(context),
    hint,
  });
}

/** The headline of every parameter error; what it is about stands in `errors`. */
const isGeneral = (phrase: Phrase) => phrase.code === 'PARAMETER_REJECTED';

function errorFromStatus(context: RequestContext, status: number, words: ServerWords): ProxwrightError {
  const init = { detail: `The server answered ${status}: ${words.quoted}`, where: whereOf(context) };
  if (status === 595) {
    return new ProxwrightError({
      ...init,
      code: 'NOT_EXECUTED',
      detail: `${init.detail}\nThe API daemon or the node behind the server cannot be reached; nothing was done.`,
      hint: 'On the node: systemctl status pvedaemon pveproxy',
    });
  }
  // 502 to 504 never come from Proxmox itself but from a proxy in front of it, which knows as little as 596 does.
  if ((status > 595 && status < 600) || (status >= 502 && status <= 504)) {
    if (!context.changes) {
      return new ProxwrightError({ ...init, code: status === 596 ? 'REQUEST_TIMEOUT' : 'UNREACHABLE', hint: SLOW });
    }
    const detail = `${init.detail}\n${STILL_GOING_ON}`;
    return new ProxwrightError({ ...init, code: 'OUTCOME_UNKNOWN', detail, hint: LOOK_FIRST });
  }
  if (status >= 300 && status < 400) {
    return new ProxwrightError({
      ...init,
      code: 'BAD_ANSWER',
      hint: 'Check the endpoint: this server redirects API calls.',
    });
  }
  if (status === 400) return new ProxwrightError({ ...init, code: 'PARAMETER_REJECTED' });
  if (status === 401) return new ProxwrightError({ ...init, code: 'LOGIN_REFUSED' });
  if (status === 403) return new ProxwrightError({ ...init, code: 'PRIVILEGE_MISSING' });
  if (status === 501) return new ProxwrightError({ ...init, code: 'NOT_IMPLEMENTED' });
  return new ProxwrightError({ ...init, code: 'SERVER_FAULT' });
}

const STILL_GOING_ON = 'The work may well be going on, or be done already.';
export const LOOK_FIRST = 'Look at the tasks of the node and at what was to be changed before doing it again.';
const SLOW = 'The server or the way to it is slow just now; try again.';
const WRONG_SERVER = 'Check that the endpoint is a Proxmox VE server and not a proxy or another web page.';

/** No answer at all. */
export function errorFromTransport(context: RequestContext, failure: TransportFailure): ProxwrightError {
  const where = whereOf(context);
  const reason = redact(failure.message, context.secrets);
  const cause = failure;
  if (failure.kind === 'certificate') return certificateError(context, failure, reason);
  if (failure.delivered === 'no') {
    const detail = `${context.endpoint} could not be reached: ${reason}. Nothing was sent.`;
    return new ProxwrightError({
      code: 'UNREACHABLE',
      detail,
      where,
      cause,
      hint: 'Check the endpoint and that port 8006 is open from here.',
    });
  }
  if (context.changes) {
    const detail = `The request was sent to ${context.endpoint}, but ${reason}. ${STILL_GOING_ON}`;
    return new ProxwrightError({ code: 'OUTCOME_UNKNOWN', detail, where, cause, hint: LOOK_FIRST });
  }
  const detail = `${context.endpoint} was asked, but ${reason}.`;
  if (failure.kind === 'timeout')
    return new ProxwrightError({ code: 'REQUEST_TIMEOUT', detail, where, cause, hint: SLOW });
  if (failure.kind === 'malformed')
    return new ProxwrightError({ code: 'BAD_ANSWER', detail, where, cause, hint: WRONG_SERVER });
  return new ProxwrightError({
    code: 'UNREACHABLE',
    detail,
    where,
    cause,
    hint: 'On the node: systemctl status pveproxy',
  });
}

function certificateError(context: RequestContext, failure: TransportFailure, reason: string): ProxwrightError {
  const { fingerprint } = failure;
  const presented = fingerprint ? ` with SHA-256 fingerprint ${fingerprint}` : '';
  return new ProxwrightError({
    code: 'CERT_UNTRUSTED',
    detail: `${context.endpoint} presented a certificate${presented}, which is not trusted: ${reason}. Nothing was sent.`,
    where: whereOf(context),
    cause: failure,
    hint: fingerprint
      ? advice`If that is your server, set ${setting('connection.fingerprint', fingerprint)} (or PROXMOX_VE_FINGERPRINT), or set ${setting('connection.ca')}.`
      : advice`Set ${setting('connection.fingerprint')} or ${setting('connection.ca')}.`,
  });
}

/** An answer of 2xx that is not what the API promises. */
export function badAnswer(context: RequestContext, what: string, cause?: unknown): ProxwrightError {
  return new ProxwrightError({
    code: 'BAD_ANSWER',
    // An answer came, so the request was carried out; only what it said is lost.
    outcome: context.changes ? 'unknown' : 'known',
    detail: `The answer to ${context.request} is not what Proxmox VE sends: ${redact(what, context.secrets)}`,
    where: whereOf(context),
    hint: WRONG_SERVER,
    cause,
  });
}

export function whereOf(context: RequestContext): Where {
  return { endpoint: context.endpoint, request: context.request };
}

export function hintFor(phrase: Phrase, text: string, principal: string): Hint | string | undefined {
  if (phrase.code === 'PRIVILEGE_MISSING') return privilegeHint(text, principal);
  if (phrase.code === 'LOGIN_REFUSED') {
    return principal.includes('!')
      ? `Check that token ${principal} exists, is not expired, and that its secret is right: pveum user token list ${principal.split('!')[0]}`
      : `Check the name and password of ${principal}; Proxmox does not say which of them is wrong.`;
  }
  return phrase.hint;
}

function detailFor(phrase: Phrase, context: RequestContext, words: ServerWords): string {
  if (phrase.code === 'PRIVILEGE_MISSING' || phrase.code === 'ROOT_ONLY') {
    return `${context.principal} may not do this: ${words.quoted}`;
  }
  if (phrase.code === 'LOGIN_REFUSED')
    return `${context.endpoint} does not accept ${context.principal}: ${words.quoted}`;
  return `The server answered ${words.status}: ${words.quoted}`;
}
