import { describe, expect, it } from 'vitest';
import { API_CHANGES } from './api-changes.ts';
import { apiOf, endpointsOf } from './api-of-release.ts';
import { validateParams } from './validate.ts';

const CONFIG = 'PUT /nodes/{node}/qemu/{vmid}/config';

function problemsOf(version: string, name: string, params: Record<string, string>) {
  const facts = apiOf(version)[name];
  if (!facts) return 'absent';
  const validated = validateParams(facts, { node: 'pve1', vmid: '100', ...params });
  return validated.ok ? {} : validated.errors;
}

describe('the changes of the API', () => {
  it('refer to endpoints, parameters and parts that the newest release, or the next one, has', () => {
    for (const change of API_CHANGES) {
      const names = endpointsOf(change);
      expect(names.length, JSON.stringify(change.endpoints)).toBeGreaterThan(0);
      for (const name of names) {
        const facts = apiOf(change.before)[name];
        expect(facts, `${name} before ${change.before}`).toBeDefined();
        const known = Object.keys(facts?.params ?? {});
        expect(known, `${name} before ${change.before}`).toEqual(expect.arrayContaining([...(change.without ?? [])]));
        for (const [key, { without = [] }] of Object.entries(change.parts ?? {})) {
          const format = facts?.params[key]?.format;
          expect(Object.keys(typeof format === 'object' ? format : {}), `${name} ${key}`).toEqual(
            expect.arrayContaining([...without]),
          );
        }
      }
    }
  });

  it('go from the newest release back', () => {
    const order = API_CHANGES.map(({ before }) => Number(before));
    expect(order).toEqual(order.toSorted((a, b) => b - a));
  });
});

describe('the API of a release', () => {
  it('lacks what came later', () => {
    expect(problemsOf('9.2.11', CONFIG, { 'allow-ksm': '1' })).toEqual({});
    expect(problemsOf('9.0.3', CONFIG, { 'allow-ksm': '1' })).toEqual({
      'allow-ksm': 'property is not defined in schema and the schema does not allow additional properties',
    });
    expect(problemsOf('8.4.1', 'GET /cluster/ha/rules', {})).toBe('absent');
    expect(problemsOf('8.3.0', 'GET /cluster/mapping/dir', {})).toBe('absent');
    expect(problemsOf('8.4.1', 'GET /cluster/mapping/dir', {})).not.toBe('absent');
  });

  it('has what was removed later', () => {
    expect(problemsOf('8.4.1', CONFIG, { ide0: 'local:1,cyls=16' })).toEqual({});
    expect(Object.keys(problemsOf('9.0.3', CONFIG, { ide0: 'local:1,cyls=16' }))).toEqual(['ide0']);
  });

  it('has memory as a number before it became a property string', () => {
    expect(problemsOf('8.0.3', CONFIG, { memory: 'current=512' })).toEqual({
      memory: "type check ('integer') failed - got 'current=512'",
    });
    expect(problemsOf('8.1.3', CONFIG, { memory: 'current=512' })).toEqual({});
  });

  it('requires VM.Monitor where the guest agent had no separate privileges', () => {
    const agents = (version: string) =>
      Object.entries(apiOf(version)).filter(([name]) => /\/agent(\/|$)/.test(name) && name !== AGENT_INDEX);
    for (const [, { permissions }] of agents('8.4.1')) {
      expect(permissions).toEqual({ check: ['perm', '/vms/{vmid}', ['VM.Monitor']] });
    }
    expect(JSON.stringify(agents('9.0.3'))).not.toContain('VM.Monitor');
    expect(agents('8.4.1')).toHaveLength(agents('9.0.3').length);
  });
});

const AGENT_INDEX = 'GET /nodes/{node}/qemu/{vmid}/agent';
