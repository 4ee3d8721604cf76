/** /access/users/{userid}/token: API tokens. The secret is shown once, when it is made. */
import { randomUuid } from '../../../base/random.ts';
import { splitList } from '../../../pve/wire/index.ts';
import { joinTokenName, verifyUserName } from '../../access/ids.ts';
import { changeUserConfig } from '../../access/user-config.ts';
import { findToken, requireToken, requireUser, tokensOf } from '../../access/users.ts';
import type { Call, CallTo, Routes } from '../../core/call.ts';
import { dieFault, paramFault } from '../../http/response.ts';
import type { ApiToken } from '../../world/world.ts';

export const tokenRoutes: Routes = {
  'GET /access/users/{userid}/token': listTokens,
  'GET /access/users/{userid}/token/{tokenid}': readToken,
  'POST /access/users/{userid}/token/{tokenid}': createToken,
  'PUT /access/users/{userid}/token/{tokenid}': updateToken,
  'DELETE /access/users/{userid}/token/{tokenid}': deleteToken,
};

export interface TokenInfo {
  readonly privsep: number | string;
  readonly expire?: number | string;
  readonly comment?: string;
}

export function tokenInfo(token: ApiToken): TokenInfo {
  return {
    privsep: token.privsep ? 1 : 0,
    expire: token.expire,
    ...(token.comment ? { comment: token.comment } : {}),
  };
}

function listTokens({ params, runtime }: CallTo<'GET /access/users/{userid}/token'>): unknown {
  const user = requireUser(runtime.world, params.userid);
  return tokensOf(runtime.world, user.userid).map((token) => ({ tokenid: token.tokenid, ...tokenInfo(token) }));
}

function readToken(call: CallTo<'GET /access/users/{userid}/token/{tokenid}'>): TokenInfo {
  const { userid, tokenid } = namesOf(call);
  return tokenInfo(requireToken(call.runtime.world, userid, tokenid));
}

async function createToken(call: CallTo<'POST /access/users/{userid}/token/{tokenid}'>): Promise<unknown> {
  const { params, texts, runtime } = call;
  const { world } = runtime;
  const { userid, tokenid } = namesOf(call);
  requireUser(world, userid);
  if (findToken(world, userid, tokenid)) throw paramFault({ tokenid: 'Token already exists.' });
  const token: ApiToken = {
    userid,
    tokenid,
    secret: randomUuid(runtime.random),
    privsep: params.privsep ?? true,
    expire: params.expire ?? 0,
    comment: params.comment || undefined,
  };
  const authid = joinTokenName(userid, tokenid);
  await changeUserConfig(runtime, 'generating token failed', () => {
    requireUser(world, userid);
    if (world.access.tokens.has(authid)) throw dieFault('Token already exists.');
    world.access.tokens.set(authid, token);
  });
  // Rule [recorded perm-tokens-users]: what was sent is echoed as text, and an expiry only if it was sent.
  const info = {
    privsep: texts.privsep ?? 1,
    ...(texts.expire ? { expire: texts.expire } : {}),
    ...(token.comment ? { comment: token.comment } : {}),
  };
  return { 'full-tokenid': authid, info, value: token.secret };
}

/** Rule [recorded perm-tokens-users]: the answer shows the token, with what was sent as text. */
async function updateToken(call: CallTo<'PUT /access/users/{userid}/token/{tokenid}'>): Promise<unknown> {
  const { params, texts, runtime } = call;
  const { userid, tokenid } = namesOf(call);
  requireToken(runtime.world, userid, tokenid);
  const isRegenerated = params.regenerate ?? false;
  const token = await changeUserConfig(runtime, 'updating token info failed', () => {
    const found = requireToken(runtime.world, userid, tokenid);
    const deleted = splitList(params.delete ?? '');
    const unknown = deleted.find((name) => name !== 'comment');
    if (unknown !== undefined) throw paramFault({ delete: `unknown option '${unknown}'` });
    found.privsep = params.privsep ?? found.privsep;
    found.expire = params.expire ?? found.expire;
    found.comment = deleted.length > 0 ? undefined : (params.comment ?? found.comment) || undefined;
    if (isRegenerated) found.secret = randomUuid(runtime.random);
    return found;
  });
  const info = tokenInfo(token);
  return {
    ...info,
    privsep: texts.privsep ?? info.privsep,
    expire: texts.expire ?? info.expire,
    ...(isRegenerated ? { value: token.secret, 'full-tokenid': joinTokenName(userid, tokenid) } : {}),
  };
}

async function deleteToken(call: CallTo<'DELETE /access/users/{userid}/token/{tokenid}'>): Promise<void> {
  const { runtime } = call;
  const { userid, tokenid } = namesOf(call);
  requireToken(runtime.world, userid, tokenid);
  await changeUserConfig(runtime, 'deleting token failed', () => {
    requireToken(runtime.world, userid, tokenid);
    runtime.world.access.tokens.delete(joinTokenName(userid, tokenid));
  });
}

function namesOf({ params }: Call<{ readonly userid: string; readonly tokenid: string }>): {
  userid: string;
  tokenid: string;
} {
  return { userid: verifyUserName(params.userid).userid, tokenid: params.tokenid };
}
