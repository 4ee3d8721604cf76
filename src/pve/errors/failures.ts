/**
 * Builds errors from failed requests. Each one names the request, quotes the server, and says what to do: for a missing
 * privilege, the command that grants it.
 */

import type { Where } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, type Hint, setting } from '../../base/hint.ts';
import { redact, type Secret } from '../../base/secret.ts';
import { nodeCommand } from '../../base/text/node-command.ts';
import type { TransportFailure, WireResponse } from '../../base/transport.ts';
import { PRINT_FINGERPRINT } from '../http/endpoint.ts';
import { findPhrase, isBrokenConnection, type Phrase } from './phrases.ts';

/** What is known about a request before its response. */
export interface RequestContext {
  /** Whether it can change something on the server; a read may be repeated at any time. */
  readonly changes: boolean;
  /** Method and path, such as `POST /nodes/pve1/qemu/9000/clone`. */
  readonly request: string;
  readonly endpoint: string;
  readonly principal: string;
  readonly secrets: Iterable<Secret>;
}

/** A response with a status other than 2xx. */
export function errorFromResponse(context: RequestContext, response: WireResponse): ProxwrightError {
  const words = serverWords(response, (text) => redact(text, context.secrets));
  return errorFromPhrase(context, words) ?? errorFromStatus(context, response.status, words);
}

function errorFromPhrase(context: RequestContext, words: ServerWords): ProxwrightError | undefined {
  // 59x comes from pveproxy, about its own connection, with a message of the operating system.
  if (words.status >= 590) return undefined;
  const candidates = [...words.errors.map(({ text }) => text), words.message];
  const phrase =
    candidates.map(findPhrase).find((found) => found !== undefined && !isGeneral(found)) ?? findPhrase(words.message);
  if (!phrase) return undefined;
  if (isOtherGuestGone(context, words.message)) return otherGuestGone(context, words);
  const hint = hintFor(phrase, words.message, context.principal);
  return new ProxwrightError({
    code: phrase.code,
    subject: phrase.subject,
    detail: detailFor(phrase, context, words),
    where: whereOf(context),
    hint,
    facts: { serverSaid: words.message },
    ...(phrase.passes && !context.changes && { outcome: 'not-executed' }),
  });
}

/**
 * Rule [source qemu-server QemuServer.pm vmstatus]: a list reads the configuration of every VM that it found, and fails as a
 * whole if another client destroys one of them meanwhile. Then the file is not of the VM that the request names.
 */
function isOtherGuestGone({ changes, request }: RequestContext, serverSaid: string): boolean {
  const vmid = /^Configuration file '[^']+\/(\d+)\.conf' does not exist/.exec(serverSaid)?.[1];
  return vmid !== undefined && !changes && !request.split('/').includes(vmid);
}

function otherGuestGone(context: RequestContext, words: ServerWords): ProxwrightError {
  return new ProxwrightError({
    code: 'SERVER_FAULT',
    detail: `The server answered ${words.status}: ${words.quoted}`,
    where: whereOf(context),
    hint: 'A VM was destroyed while Proxmox listed all of them. Run the command again.',
    facts: { serverSaid: words.message },
    outcome: 'not-executed',
  });
}

/** The same for every parameter error; `errors` has the details. */
const isGeneral = (phrase: Phrase) => phrase.code === 'PARAMETER_REJECTED';

function errorFromStatus(context: RequestContext, status: number, words: ServerWords): ProxwrightError {
  const init = {
    detail: `The server answered ${status}: ${words.quoted}`,
    where: whereOf(context),
    facts: { serverSaid: words.message },
  };
  if (status === 595) {
    return new ProxwrightError({
      ...init,
      code: 'NOT_EXECUTED',
      detail: `${init.detail}\nThe server cannot reach its API daemon or the node; nothing was done.`,
      hint: 'On the node: systemctl status pvedaemon pveproxy',
    });
  }
  // 502 to 504 come from a proxy in front of Proxmox. As with 596, the outcome is not known.
  if ((status > 595 && status < 600) || (status >= 502 && status <= 504)) {
    if (!context.changes) {
      // A worker of the API daemon that ends breaks the connection at once, and the next one answers.
      const isTimeout = status === 596 && !isBrokenConnection(words.message);
      return new ProxwrightError({ ...init, code: isTimeout ? 'REQUEST_TIMEOUT' : 'UNREACHABLE', hint: SLOW });
    }
    const detail = `${init.detail}\n${MAY_BE_RUNNING}`;
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

const MAY_BE_RUNNING = 'The operation may still be running, or may be done.';
export const LOOK_FIRST = 'Before you try again, check the tasks of the node and whether the change was made.';
const SLOW = 'The server or the connection is slow; try again.';
const WRONG_SERVER = 'Check that the endpoint is a Proxmox VE server and not a proxy or another web page.';

/** No response. */
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
      hint: openPort(context.endpoint),
      ...(failure.systemCode !== undefined && { facts: { systemCode: failure.systemCode } }),
    });
  }
  if (context.changes) {
    const detail = `The request was sent to ${context.endpoint}, but ${reason}. ${MAY_BE_RUNNING}`;
    return new ProxwrightError({ code: 'OUTCOME_UNKNOWN', detail, where, cause, hint: LOOK_FIRST });
  }
  const detail = `The request was sent to ${context.endpoint}, but ${reason}.`;
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

function openPort(endpoint: string): string {
  const port = URL.canParse(endpoint) ? new URL(endpoint).port || '443' : USUAL_PORT;
  const usual = port === USUAL_PORT ? '' : ` Proxmox itself listens on port ${USUAL_PORT}.`;
  return `Check the endpoint, and that port ${port} is open from here.${usual}`;
}

const USUAL_PORT = '8006';

function certificateError(context: RequestContext, failure: TransportFailure, reason: string): ProxwrightError {
  const { fingerprint } = failure;
  const presented = fingerprint ? ` with SHA-256 fingerprint ${fingerprint}` : '';
  return new ProxwrightError({
    code: 'CERT_UNTRUSTED',
    detail: `${context.endpoint} presented a certificate${presented}, which is not trusted: ${reason}. Nothing was sent.`,
    where: whereOf(context),
    cause: failure,
    ...(fingerprint && { facts: { fingerprint } }),
    hint: fingerprint
      ? advice`Compare the fingerprint on the node:
${PRINT_FINGERPRINT}
Only if it is the same, set ${setting('connection.fingerprint', fingerprint)} (or PROXMOX_VE_FINGERPRINT), or set ${setting('connection.ca')}.`
      : advice`Set ${setting('connection.fingerprint')} or ${setting('connection.ca')}.`,
  });
}

/** A response with status 2xx that does not have the documented shape. */
export function badAnswer(context: RequestContext, what: string, cause?: unknown): ProxwrightError {
  return new ProxwrightError({
    code: 'BAD_ANSWER',
    // There was a response, so the request was executed; only its result is lost.
    outcome: context.changes ? 'unknown' : 'known',
    detail: `The response to ${context.request} is not what Proxmox VE sends: ${redact(what, context.secrets)}`,
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
      ? `Check that token ${principal} exists, is not expired, and that its secret is correct: ${nodeCommand('pveum user token list', [principal.split('!')[0] ?? ''])}`
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

/** The smallest built-in role that contains a privilege; privileges missing here are in no small role. */
const ROLE_WITH: readonly (readonly [RegExp, string])[] = [
  [/^VM\.Clone$/, 'PVETemplateUser'],
  [/^VM\./, 'PVEVMAdmin'],
  [/^Datastore\.(AllocateSpace|Audit)$/, 'PVEDatastoreUser'],
  [/^Datastore\./, 'PVEDatastoreAdmin'],
  [/^SDN\.(Use|Audit)$/, 'PVESDNUser'],
  [/^SDN\./, 'PVESDNAdmin'],
  [/^Pool\.Audit$/, 'PVEPoolUser'],
  [/^Pool\./, 'PVEPoolAdmin'],
  [/^Mapping\.(Use|Audit)$/, 'PVEMappingUser'],
  [/^Mapping\./, 'PVEMappingAdmin'],
  [/^Sys\.(Audit|Console|Syslog)$/, 'PVESysAdmin'],
];

export interface MissingPrivilege {
  readonly path: string;
  /** Any one of them is sufficient. */
  readonly privileges: readonly string[];
}

/** `undefined` if the server names neither path nor privilege. */
export function missingPrivilege(text: string): MissingPrivilege | undefined {
  const match = /Permission check failed \((\/[^\s,]*), ([A-Za-z.|]+)/.exec(text);
  const [, path, alternatives] = match ?? [];
  return path && alternatives ? { path, privileges: alternatives.split('|') } : undefined;
}

export function privilegeHint(text: string, principal: string): string {
  const missing = missingPrivilege(text);
  const privilege = missing?.privileges[0];
  if (!missing || !privilege) {
    const [user = principal, token] = principal.split('!');
    const command = token
      ? nodeCommand('pveum user token permissions', [user, token])
      : nodeCommand('pveum user permissions', [user]);
    return `Proxmox does not say which privilege is missing. List the current ones: ${command}`;
  }
  const known = ROLE_WITH.find(([pattern]) => pattern.test(privilege))?.[1];
  const role = known ?? 'ProxwrightExtra';
  const grant = nodeCommand('pveum acl modify', [missing.path], { ...granteesOf(principal), roles: role });
  return known
    ? `Grant it: ${grant}`
    : `Grant it: ${nodeCommand('pveum role add', [role], { privs: privilege })}\n${grant}`;
}

/** With privilege separation, both the token and its owner need the grant. */
function granteesOf(principal: string): { readonly users?: string; readonly tokens?: string } {
  const user = principal.split('!')[0] ?? principal;
  if (user === principal) return { users: user };
  // root@pam has every privilege; its tokens do not.
  return user === 'root@pam' ? { tokens: principal } : { users: user, tokens: principal };
}

/**
 * The message of the server, wherever it is: in `message` of the body (since PVE 8.3), in the reason phrase (always, but
 * only its first line), in `errors` by parameter, or, before routing, as the plain body.
 */
export interface ServerWords {
  readonly status: number;
  readonly message: string;
  /** Sorted by key, because Proxmox sends them in random order. */
  readonly errors: readonly { readonly key: string; readonly text: string }[];
  /** For messages: the text in quotes, then one line per parameter. */
  readonly quoted: string;
}

/** Longer than any real message; limits what a hostile server can send. */
const MAX_TEXT = 2_000;

export function serverWords(response: WireResponse, clean: (text: string) => string): ServerWords {
  const body = objectOf(response.body);
  const shorten = (text: string) => clean(text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text).trim();
  const spoken = typeof body?.message === 'string' ? body.message : response.reason || plainText(response.body);
  const message = shorten(spoken) || 'no message';
  const errors = Object.entries(isRecord(body?.errors) ? body.errors : {})
    .map(([key, value]) => ({
      key: shorten(key),
      text: shorten(typeof value === 'string' ? value : JSON.stringify(value)),
    }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const lines = errors.map(({ key, text }) => `${key}: ${text.replace(/\s*\n\s*/g, '; ')}`);
  return {
    status: response.status,
    message,
    errors,
    quoted: [`"${message}"${lines.length > 0 ? '' : '.'}`, ...lines].join('\n'),
  };
}

/** Omits the HTML pages of proxies and captive portals. */
function plainText(body: string): string {
  return /^\s*</.test(body) ? '' : body;
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
