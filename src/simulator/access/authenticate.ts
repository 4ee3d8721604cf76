/**
 * Authentication: reads the credentials of a request and decides whether they are valid. Tickets and CSRF tokens are opaque
 * texts with a user and a time, signed with keys that live as long as the simulated cluster; they look like real ones with a
 * shorter signature. `checks.ts` decides what the caller may do.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { randomHex } from '../../base/random.ts';
import type { Caller } from '../core/call.ts';
import { nowSeconds, type Runtime } from '../core/runtime.ts';
import { permFault } from '../http/response.ts';
import type { World } from '../world/world.ts';
import { privilegeTest } from './acl.ts';
import { parseTokenName, parseUserName, ROOT } from './names.ts';
import { findToken, findUser, isExpired, isUsable } from './users.ts';

interface LoginRequest {
  readonly method: string;
  /** Below `/api2/json`: `/nodes/pve1/qemu`. */
  readonly path: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

type Login =
  | { readonly ok: true; readonly caller: Caller }
  /** 401 is answered without a body. */
  | { readonly ok: false; readonly status: 401; readonly reason: string };

/** The caller of the few endpoints that need no login. */
export const ANONYMOUS: Caller = { userid: '', tokenid: undefined, authid: '', isRoot: false };

/** Rule [source PM HTTPServer.pm auth_handler]: these are open to the world, and credentials sent there are not read. */
const OPEN_ENDPOINTS = new Set([
  'GET /access/domains',
  'GET /access/ticket',
  'POST /access/ticket',
  'POST /access/vncticket',
  'POST /access/openid/login',
  'POST /access/openid/auth-url',
]);

/**
 * Rule [source PM HTTPServer.pm auth_handler]: a ticket wins over a token; every failure is `Authentication failed!`,
 * nothing at all is `No ticket`; with a ticket, everything but GET needs the CSRF token.
 */
export function authenticate(runtime: Runtime, request: LoginRequest): Login {
  if (OPEN_ENDPOINTS.has(`${request.method} ${request.path}`)) return { ok: true, caller: ANONYMOUS };
  const credentials = credentialsOf(request.headers);
  if (!credentials) return refused('No ticket');
  const caller =
    credentials.kind === 'token' ? tokenCaller(runtime, credentials.text) : ticketCaller(runtime, credentials.text);
  if (!caller) return refused('Authentication failed!');
  if (isUpload(request)) {
    // Rule [source PM HTTPServer.pm auth_handler]: an upload needs no CSRF token, its right is checked here instead.
    assertMayUpload(runtime, caller, request.path);
  } else if (credentials.kind === 'ticket' && request.method !== 'GET') {
    const token = request.headers.csrfpreventiontoken;
    if (!isCsrfTokenOf(runtime, caller.userid, token)) return refused('Permission denied - invalid csrf token');
  }
  return { ok: true, caller };
}

/** Rule [source PM HTTPServer.pm rest_handler]: some calls refuse a token by its mere presence, valid or not. */
export function sentApiToken(headers: LoginRequest['headers']): boolean {
  return credentialsOf(headers)?.kind === 'token';
}

/** The ticket of a request, good or bad. */
export function sentTicket(headers: LoginRequest['headers']): string | undefined {
  const credentials = credentialsOf(headers);
  return credentials?.kind === 'ticket' ? credentials.text : undefined;
}

interface Credentials {
  readonly kind: 'ticket' | 'token';
  readonly text: string;
}

/** Rule [source HS AnyEvent.pm authenticate_and_handle_request]: cookie, then ticket in the header, then token. */
function credentialsOf(headers: LoginRequest['headers']): Credentials | undefined {
  const authorization = headers.authorization;
  const ticket = authValue(headers.cookie, 'PVEAuthCookie') ?? authValue(authorization, 'PVEAuthCookie');
  if (ticket) return { kind: 'ticket', text: ticket };
  const token = authValue(authorization, 'PVEAPIToken');
  return token ? { kind: 'token', text: token } : undefined;
}

/** Rule [source HS Formatter.pm extract_auth_value]: `=` or a blank after the name; the value ends at `;`. */
function authValue(header: string | undefined, name: string): string | undefined {
  const value = new RegExp(`(?:^|\\s)${name}(?:=| )([^;]*)`).exec(header ?? '')?.[1];
  return value ? unescapeBytes(value) : undefined;
}

/** Unlike `decodeURIComponent` this keeps a stray percent sign. */
function unescapeBytes(text: string): string {
  return text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Rule [source AC AccessControl.pm verify_token]: user enabled, token known and not expired, secret right. */
function tokenCaller(runtime: Runtime, text: string): Caller | undefined {
  const [, authid = '', secret = ''] = /^(.*)=(.*)$/.exec(text) ?? [];
  const name = parseTokenName(authid);
  const user = name && findUser(runtime.world, name.userid);
  const token = name && findToken(runtime.world, name.userid, name.tokenid);
  if (!user || !token || !isUsable(runtime, user)) return undefined;
  if (isExpired(runtime, token.expire) || token.secret !== secret) return undefined;
  return { userid: name.userid, tokenid: name.tokenid, authid, isRoot: false };
}

function ticketCaller(runtime: Runtime, ticket: string): Caller | undefined {
  const userid = verifyTicket(runtime, ticket);
  const user = userid === undefined ? undefined : findUser(runtime.world, userid);
  if (!user || !isUsable(runtime, user)) return undefined;
  return { userid: user.userid, tokenid: undefined, authid: user.userid, isRoot: user.userid === ROOT };
}

function isUpload(request: LoginRequest): boolean {
  return request.method === 'POST' && UPLOAD_PATH.test(request.path);
}

const UPLOAD_PATH = /^\/nodes\/[^/]+\/storage\/([^/]+)\/upload$/;

function assertMayUpload(runtime: Runtime, caller: Caller, path: string): void {
  const storagePath = `/storage/${UPLOAD_PATH.exec(path)?.[1] ?? ''}`;
  if (caller.isRoot || privilegeTest(runtime.world, caller.authid, storagePath)('Datastore.AllocateTemplate')) return;
  throw permFault(`${storagePath}, Datastore.AllocateTemplate`);
}

function refused(reason: string): Login {
  return { ok: false, status: 401, reason };
}

/** Rule [source AC AccessControl.pm ticket_lifetime]: two hours, with five minutes of grace for clocks that are behind. */
const LIFETIME_SECONDS = 2 * 3600;
const GRACE_SECONDS = 5 * 60;

interface Keys {
  readonly ticket: string;
  readonly csrf: string;
}

const keysOfWorld = new WeakMap<World, Keys>();

export function issueTicket(runtime: Runtime, userid: string): string {
  const plain = `PVE:${userid}:${timestamp(runtime)}`;
  return `${plain}::${sign(keysOf(runtime).ticket, plain)}`;
}

/** The user of a ticket that has a valid signature and is not too old. */
export function verifyTicket(runtime: Runtime, ticket: string): string | undefined {
  const match = /^(PVE:(\S+):([A-Z0-9]{8}))::([^:\s]+)$/.exec(ticket);
  if (!match) return undefined;
  const [, plain = '', userid = '', time = '', signature = ''] = match;
  if (!sameText(sign(keysOf(runtime).ticket, plain), signature) || !isFresh(runtime, time)) return undefined;
  return parseUserName(userid)?.userid;
}

export function issueCsrfToken(runtime: Runtime, userid: string): string {
  const time = timestamp(runtime);
  return `${time}:${sign(keysOf(runtime).csrf, `${time}:${userid}`)}`;
}

/** Rule [source PC Ticket.pm verify_csrf_prevention_token]: bound to the user, not to the ticket; same life. */
function isCsrfTokenOf(runtime: Runtime, userid: string, token: string | undefined): boolean {
  const match = /^([A-Z0-9]{8}):(\S+)$/.exec(token ?? '');
  if (!match) return false;
  const [, time = '', signature = ''] = match;
  return sameText(sign(keysOf(runtime).csrf, `${time}:${userid}`), signature) && isFresh(runtime, time);
}

function isFresh(runtime: Runtime, time: string): boolean {
  const ageSeconds = nowSeconds(runtime) - Number.parseInt(time, 16);
  return ageSeconds > -GRACE_SECONDS && ageSeconds < LIFETIME_SECONDS;
}

function timestamp(runtime: Runtime): string {
  return nowSeconds(runtime).toString(16).toUpperCase().padStart(8, '0');
}

function sign(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64').replace(/=+$/, '');
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function keysOf(runtime: Runtime): Keys {
  const known = keysOfWorld.get(runtime.world);
  if (known) return known;
  const random = runtime.random.fork('auth-keys');
  const keys = { ticket: randomHex(random, 64), csrf: randomHex(random, 64) };
  keysOfWorld.set(runtime.world, keys);
  return keys;
}
