import { describe, expect, it } from 'vitest';
import { API_FACTS } from './api-facts.generated.ts';
import type { EndpointFacts, ParamSchemas, RawParams } from './types.ts';
import { validateParams } from './validate.ts';

const facts = (params: ParamSchemas): EndpointFacts => ({ params, permissions: {} });

function errorsOf(params: ParamSchemas, raw: RawParams): Readonly<Record<string, string>> {
  const result = validateParams(facts(params), raw);
  return result.ok ? {} : result.errors;
}

describe('validateParams', () => {
  it('reports all problems together', () => {
    const params: ParamSchemas = {
      cores: { type: 'integer', minimum: 1, optional: true },
      mode: { type: 'string', enum: ['a', 'b'], optional: true },
      name: { type: 'string', maxLength: 3 },
      note: { type: 'string', minLength: 2, optional: true },
      vmid: { type: 'integer' },
    };
    expect(errorsOf(params, { cores: '0', mode: 'c', name: 'four', note: 'x', more: '1' })).toEqual({
      cores: 'value must have a minimum value of 1',
      mode: "value 'c' does not have a value in the enumeration 'a, b'",
      name: 'value may only be 3 characters long',
      note: 'value must be at least 2 characters long',
      vmid: 'property is missing and it is not optional',
      more: 'property is not defined in schema and the schema does not allow additional properties',
    });
  });

  it('hands over integers as numbers, booleans as 0 or 1, everything else as text', () => {
    const params: ParamSchemas = {
      a: { type: 'integer' },
      b: { type: 'boolean' },
      c: { type: 'boolean' },
      d: { type: 'number' },
      e: { type: 'string' },
      f: { type: 'integer' },
    };
    const raw = { a: '05', b: true, c: '0', d: '1.50', e: 42, f: 7 };
    expect(validateParams(facts(params), raw)).toEqual({
      ok: true,
      values: { a: 5, b: 1, c: 0, d: '1.50', e: '42', f: 7 },
    });
  });

  it('keeps a sign, because the configuration file will refuse it', () => {
    expect(validateParams(facts({ a: { type: 'integer' } }), { a: '+5' })).toEqual({ ok: true, values: { a: '+5' } });
  });

  it('accepts no words for booleans at the top level', () => {
    for (const word of ['true', 'on', 'yes', '', '2']) {
      expect(errorsOf({ on: { type: 'boolean' } }, { on: word })).toEqual({
        on: `type check ('boolean') failed - got '${word}'`,
      });
    }
  });

  it('names the actual type if a scalar was expected', () => {
    const params: ParamSchemas = { a: { type: 'string' } };
    expect(errorsOf(params, { a: ['x', 'y'] })).toEqual({ a: "type check ('string') failed - got ARRAY" });
    expect(errorsOf(params, { a: { x: 1 } })).toEqual({ a: "type check ('string') failed - got HASH" });
    expect(errorsOf(params, { a: true })).toEqual({ a: "type check ('string') failed - got JSON::PP::Boolean" });
  });

  it('joins a list given as an array and wraps a single value of an array', () => {
    const params: ParamSchemas = {
      command: { type: 'array', items: { type: 'string' }, optional: true },
      tags: { type: 'string', format: 'pve-tag-list', optional: true },
    };
    expect(validateParams(facts(params), { tags: ['b', 'a'], command: 'ls' })).toEqual({
      ok: true,
      values: { tags: 'b,a', command: ['ls'] },
    });
    expect(errorsOf(params, { command: '' })).toEqual({ command: "type check ('array') failed" });
  });

  it('checks the items of an array under their index', () => {
    const params: ParamSchemas = {
      map: { type: 'array', items: { type: 'string', format: { node: { type: 'string' } } } },
    };
    expect(errorsOf(params, { map: ['node=a', 'x=1', null] })).toEqual({
      'map[1]':
        'invalid format - format error\n' +
        'map[1].node: property is missing and it is not optional\n' +
        'map[1].x: property is not defined in schema and the schema does not allow additional properties\n',
      'map[2]': 'property is missing and it is not optional',
    });
  });

  it('lets a null pass as if absent, but hands it over', () => {
    expect(validateParams(facts({ cores: { type: 'integer', optional: true } }), { cores: null })).toEqual({
      ok: true,
      values: { cores: null },
    });
    expect(errorsOf({ vmid: { type: 'integer' } }, { vmid: null })).toEqual({
      vmid: 'property is missing and it is not optional',
    });
  });

  it('reports a missing companion under its name, joined with a backslash and an n', () => {
    const params: ParamSchemas = {
      delete: { type: 'string' },
      force: { type: 'boolean', optional: true, requires: 'delete' },
    };
    expect(errorsOf(params, { force: 1 })).toEqual({
      delete: "property is missing and it is not optional\\nmissing property required by 'force'",
    });
  });

  it('moves an alias to its target and refuses both at once', () => {
    const params: ParamSchemas = { old: { alias: 'new' }, new: { type: 'integer', optional: true } };
    expect(validateParams(facts(params), { old: '5' })).toEqual({ ok: true, values: { new: 5 } });
    expect(errorsOf(params, { old: '5', new: '6' })).toEqual({
      old: "cannot set both 'old' and its alias target 'new'",
    });
  });

  it('reports a parameter without a name at the root', () => {
    expect(errorsOf({}, { '': null })).toEqual({
      _root: 'property is not defined in schema and the schema does not allow additional properties',
    });
  });

  it('refuses SCSI-only options on a virtio drive', () => {
    const create = API_FACTS['POST /nodes/{node}/qemu'];
    expect(create).toBeDefined();
    if (create === undefined) return;
    const result = validateParams(create, {
      node: 'pve1',
      vmid: '100',
      virtio0: 'local:1,ssd=1',
      scsi0: 'local:1,ssd=1',
    });
    expect(result).toEqual({
      ok: false,
      errors: {
        virtio0:
          'invalid format - format error\n' +
          'virtio0.ssd: property is not defined in schema and the schema does not allow additional properties\n',
      },
    });
  });
});
