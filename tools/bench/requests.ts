/** Raw requests, as bytes on a wire would say them. */
import type { WireRequest, WireResponse } from '../../src/base/transport.ts';
import { encodeForm, type FormParams } from '../../src/pve/index.ts';

export const TOKEN = 'root@pam!test=00000000-0000-4000-8000-000000000001';
export const AUTHORIZATION = `PVEAPIToken=${TOKEN}`;

export function get(path: string, authorization = AUTHORIZATION): WireRequest {
  return { method: 'GET', target: `/api2/json${path}`, headers: { authorization } };
}

export function send(method: string, path: string, params: FormParams = {}): WireRequest {
  return {
    method,
    target: `/api2/json${path}`,
    headers: { authorization: AUTHORIZATION, 'content-type': 'application/x-www-form-urlencoded' },
    body: encodeForm(params),
  };
}

/** The `data` of an answer; a refusal must not be measured as if it were work. */
export async function dataOf(answer: Promise<WireResponse>): Promise<unknown> {
  const { status, reason, body } = await answer;
  if (status !== 200) throw new Error(`the simulator answered ${status} ${reason}: ${body}`);
  return (JSON.parse(body) as { readonly data: unknown }).data;
}

/** Like `dataOf`, without the cost of reading the answer. */
export async function ok(answer: Promise<WireResponse>): Promise<void> {
  const { status, reason, body } = await answer;
  if (status !== 200) throw new Error(`the simulator answered ${status} ${reason}: ${body}`);
}
