/**
 * Login tickets and their CSRF tokens: opaque texts that carry a user and a time, signed with keys that live as long as
 * the simulated cluster. They look like the genuine ones; the signature is shorter.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { randomHex } from '../../base/random.ts';
import { nowSeconds, type Runtime } from '../core/runtime.ts';
import type { World } from '../world/world.ts';
import { parseUserName } from './ids.ts';

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

/** The user of a ticket that is genuine and not too old. */
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
export function isCsrfTokenOf(runtime: Runtime, userid: string, token: string | undefined): boolean {
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
