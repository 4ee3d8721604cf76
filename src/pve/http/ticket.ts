/** Logging in with a password: getting a ticket, proving it on each request, exchanging it for a fresh one. */
import { z } from 'zod';
import type { Clock, Instant } from '../../base/clock.ts';
import { isFamily, ProxwrightError } from '../../base/errors.ts';
import { Secret } from '../../base/secret.ts';
import { decodeAnswer } from '../answer.ts';
import { whereOf } from '../errors/failures.ts';
import type { Exchange, Identity } from '../exchange.ts';
import { apiPath } from '../path.ts';
import type { FormParams } from '../wire/form.ts';
import { percentEncode } from '../wire/percent.ts';
import type { PasswordCredentials } from './credentials.ts';

export interface Ticket {
  readonly username: string;
  readonly value: Secret;
  readonly csrfToken: Secret;
  readonly obtainedAt: Instant;
}

const ticketSchema = z.looseObject({
  ticket: z.string().min(1),
  CSRFPreventionToken: z.string(),
  username: z.string(),
  NeedTFA: z.union([z.number(), z.string(), z.boolean()]).optional(),
});

export async function login(exchange: Exchange, clock: Clock, credentials: PasswordCredentials): Promise<Ticket> {
  const { username, password, otp } = credentials;
  const first = await requestTicket(exchange, clock, username, { username, password });
  if (!first.needsSecondFactor) return first.ticket;
  if (!otp) throw secondFactorNeeded(first.where, username);
  // The half ticket of the first step is the challenge; the answer to it takes the place of the password.
  const answer = new Secret(`totp:${otp.reveal()}`);
  const second = await requestTicket(exchange, clock, username, {
    username,
    password: answer,
    'tfa-challenge': first.ticket.value,
  });
  if (second.needsSecondFactor) throw secondFactorNeeded(second.where, username);
  return second.ticket;
}

/** A ticket that still holds buys the next one, without the password and without a second factor. */
export async function renew(exchange: Exchange, clock: Clock, ticket: Ticket): Promise<Ticket | undefined> {
  try {
    const { username, value } = ticket;
    return (await requestTicket(exchange, clock, username, { username, password: value })).ticket;
  } catch (thrown) {
    if (isFamily(thrown, 'auth')) return undefined;
    throw thrown;
  }
}

/** The server wants the CSRF token with everything but GET, and does not mind it there. */
export function ticketIdentity(ticket: Ticket): Identity {
  return {
    principal: ticket.username,
    headers: {
      cookie: `PVEAuthCookie=${percentEncode(ticket.value.reveal())}`,
      csrfpreventiontoken: ticket.csrfToken.reveal(),
    },
    secrets: [ticket.value, ticket.csrfToken],
  };
}

async function requestTicket(exchange: Exchange, clock: Clock, username: string, params: FormParams) {
  const nobodyYet: Identity = { principal: username, headers: {}, secrets: [] };
  const answer = await exchange.send(
    { method: 'POST', path: apiPath`/access/ticket`, params, isQuestion: true },
    nobodyYet,
  );
  const data = decodeAnswer(answer, ticketSchema);
  const ticket: Ticket = {
    username: data.username,
    value: new Secret(data.ticket),
    csrfToken: new Secret(data.CSRFPreventionToken),
    obtainedAt: clock.now(),
  };
  return { ticket, needsSecondFactor: Number(data.NeedTFA ?? 0) === 1, where: whereOf(answer.context) };
}

function secondFactorNeeded(where: ReturnType<typeof whereOf>, username: string): ProxwrightError {
  return new ProxwrightError({
    code: 'LOGIN_REFUSED',
    detail: `${username} has a second factor, and no valid one-time password was given.`,
    where,
    hint: `Use an API token, which needs no second factor: pveum user token add ${username} proxwright`,
  });
}
