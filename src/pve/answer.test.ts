import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import type { Transport, WireResponse } from '../base/transport.ts';
import { decodeAnswer, readAnswer } from './answer.ts';
import { shareReads } from './http/shared-reads.ts';
import { createPve, parseToken } from './index.ts';

const CONTEXT = { changes: false, request: 'GET /nodes', endpoint: 'here', principal: 'me', secrets: [] };

function answerTo(response: WireResponse) {
  const reading = readAnswer(CONTEXT, response);
  if (reading.kind !== 'answer') throw reading.error;
  return reading.answer;
}

function response(body: string): WireResponse {
  return { status: 200, reason: 'OK', headers: {}, body };
}

/** A schema that counts the entries it decodes. */
function counting() {
  const seen: string[] = [];
  const entry = z.object({ node: z.string() }).transform((each) => {
    seen.push(each.node);
    return each;
  });
  return { seen, schema: z.array(entry) };
}

describe('an answer', () => {
  it('is decoded once for all callers that share it', () => {
    const { seen, schema } = counting();
    const shared = response('{"data":[{"node":"a"},{"node":"b"}]}');
    const first = decodeAnswer(answerTo(shared), schema);
    expect(decodeAnswer(answerTo(shared), schema)).toBe(first);
    expect(seen).toEqual(['a', 'b']);
  });

  it('is decoded separately for every schema', () => {
    const shared = response('{"data":{"node":"a","cores":"4"}}');
    const name = z.object({ node: z.string() });
    const cores = z.object({ cores: z.coerce.number() });
    expect(decodeAnswer(answerTo(shared), name)).toEqual({ node: 'a' });
    expect(decodeAnswer(answerTo(shared), cores)).toEqual({ cores: 4 });
    expect(decodeAnswer(answerTo(shared), name)).toEqual({ node: 'a' });
  });

  it('is decoded separately from another answer with the same text', () => {
    const { seen, schema } = counting();
    const same = '{"data":[{"node":"a"}]}';
    expect(decodeAnswer(answerTo(response(same)), schema)).toEqual(decodeAnswer(answerTo(response(same)), schema));
    expect(seen).toEqual(['a', 'a']);
  });

  it('is rejected every time if it does not match the schema', () => {
    const shared = response('{"data":[{"node":1}]}');
    for (const _ of [1, 2]) {
      expect(() => decodeAnswer(answerTo(shared), counting().schema)).toThrow(/data\.0\.node/);
    }
  });
});

describe('a list that several callers share', () => {
  it('is decoded once, because its schema is a constant', async () => {
    const bodies: Readonly<Record<string, string>> = {
      '/api2/json/nodes': '{"data":[{"node":"pve1","status":"online"}]}',
      '/api2/json/nodes/pve1/qemu': '{"data":[{"vmid":100,"status":"stopped"}]}',
      '/api2/json/cluster/resources': '{"data":[{"id":"qemu/100","type":"qemu"}]}',
      '/api2/json/nodes/pve1/storage': '{"data":[{"storage":"local","type":"dir","content":"iso"}]}',
      '/api2/json/nodes/pve1/tasks': '{"data":[]}',
    };
    const transport: Transport = {
      send: async ({ target }) =>
        response(bodies[target.split('?')[0] ?? ''] ?? '{"data":{"version":"9.0","release":"9.0","repoid":"0"}}'),
      close: async () => {},
    };
    const pve = createPve({
      transport: shareReads(transport, systemClock, 60_000),
      endpoint: 'https://pve1.test:8006',
      credentials: parseToken('root@pam!admin=00000000-0000-4000-8000-000000000001'),
      clock: systemClock,
      random: seededRandom('answers'),
    });
    const node = pve.node('pve1');
    const lists = [
      () => pve.nodes(),
      () => node.vms.list(),
      () => pve.cluster.resources(),
      () => node.storages.list(),
      () => node.tasks.list(),
    ];
    for (const list of lists) expect(await list()).toBe(await list());
  });
});
