/** The parameters that handlers receive: their types, which the compiler checks, and their values. */
import { describe, expect, it } from 'vitest';
import { ROUTES } from '../api/index.ts';
import type { CallTo, Routes } from '../core/call.ts';
import { API_FACTS } from './api-facts.generated.ts';
import { EXTRA_FACTS } from './api-of-release.ts';
import type { EndpointFacts } from './types.ts';
import { paramTexts, sentTexts, typedParams } from './validate.ts';

type Clone = CallTo<'POST /nodes/{node}/qemu/{vmid}/clone'>['params'];

const FACTS: EndpointFacts = {
  params: {
    count: { type: 'integer' },
    limit: { type: 'number' },
    full: { type: 'boolean' },
    name: { type: 'string' },
    command: { type: 'array', items: { type: 'string' } },
    'net[n]': { type: 'string', count: 32 },
  },
  permissions: {},
};

describe('a route', () => {
  it('is refused by the compiler if the facts do not have its endpoint', () => {
    // @ts-expect-error: there is no such endpoint.
    const routes: Routes = { 'GET /nodes/{node}/nothing': () => null };
    expect(routes).toBeDefined();
  });

  it('is refused by the compiler if it reads a parameter that the facts do not have', () => {
    // @ts-expect-error: the parameter is called `newid`.
    const routes: Routes = { 'POST /nodes/{node}/qemu/{vmid}/clone': ({ params }) => params.newId };
    expect(routes).toBeDefined();
  });

  it('is refused by the compiler if it uses a parameter as another type', () => {
    const { newid, full, format }: Clone = { node: 'pve1', vmid: 100, newid: 101, format: 'raw' };
    // @ts-expect-error: an id is a number.
    const id: string = newid;
    // @ts-expect-error: `full` may be missing.
    const isFull: boolean = full;
    // @ts-expect-error: not one of the formats.
    const isIso = format === 'iso';
    expect([id, isFull, isIso]).toEqual([101, undefined, false]);
  });

  it('has an endpoint in the facts', () => {
    expect(Object.keys({ ...API_FACTS, ...EXTRA_FACTS })).toEqual(expect.arrayContaining(Object.keys(ROUTES)));
  });
});

describe('typed parameters', () => {
  it('are numbers, booleans, texts and lists', () => {
    const values = { count: 5, limit: '1.50', full: 1, name: 'web', command: ['ls', '-l'], net3: 'virtio' };
    expect(typedParams(FACTS, values)).toEqual({
      count: 5,
      limit: 1.5,
      full: true,
      name: 'web',
      command: ['ls', '-l'],
      net3: 'virtio',
    });
    expect(typedParams(FACTS, { full: 0 })).toEqual({ full: false });
  });

  it('read a signed integer as a number, and keep its text as sent', () => {
    expect(typedParams(FACTS, { count: '+5' })).toEqual({ count: 5 });
    expect(paramTexts({ count: '+5' })).toEqual({ count: '+5' });
  });

  it('omit a parameter that was sent without a value, but keep it in the texts', () => {
    expect(typedParams(FACTS, { name: null })).toEqual({});
    expect(paramTexts({ name: null, full: 1, command: ['ls', '-l'] })).toEqual({
      name: null,
      full: '1',
      command: 'ls,-l',
    });
    expect(sentTexts({ name: null, full: '1' })).toEqual([['full', '1']]);
  });
});
