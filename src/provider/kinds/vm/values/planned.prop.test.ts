import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CtyObject, isObject, objectOf } from '../../../cty/value.ts';
import type { Attributes } from '../../../schema/model.ts';
import { arbitraryObject } from '../../../values/testing/arbitrary-objects.ts';
import { planProblems } from '../../../values/testing/host-rules.ts';
import { vmFieldAttributes } from '../shape.ts';
import { managedPaths, plannedAttributes } from './planned.ts';

/** Fields of different kinds, and the other attributes of a resource. */
function someAttributes(): Attributes {
  const { name, memory, tags, boot, cpu, disks, nics, extra, cloud_init } = vmFieldAttributes();
  const value = { kind: 'value', type: 'string' } as const;
  const fields = { name, memory, tags, boot, cpu, disks, nics, extra, cloud_init };
  return {
    ...(fields as Attributes), // every one of them is there
    id: { type: value, given: 'computed', description: '' },
    note: { type: value, given: 'optional', description: '' },
    token: { type: value, given: 'optional', description: '', writeOnly: true },
  };
}

const attributes = someAttributes();
const config = arbitraryObject(attributes, { unknowns: true, computed: false });
const known = arbitraryObject(attributes, { unknowns: false, computed: false });
const state = arbitraryObject(attributes, { unknowns: false, computed: true });
const parts = (path: string) => path.split('.').length % 2 === 0;
const wasManaged = fc.constantFrom<(path: string) => boolean>(
  () => true,
  () => false,
  parts,
);

/** A state that an earlier configuration produced, with observed values in addition. */
const related = fc
  .tuple(known, state)
  .map(([configured, found]): [CtyObject, CtyObject] => [configured, filled(configured, found)]);

function filled(configured: CtyObject, found: CtyObject): CtyObject {
  return objectOf(
    Object.entries(found).map(([name, value]) => {
      const own = configured[name] ?? null;
      if (name === 'token') return [name, null];
      if (own === null) return [name, value];
      return [name, isObject(own) && isObject(value) && name !== 'extra' ? filled(own, { ...own, ...value }) : own];
    }),
  );
}

const cases = fc.oneof(
  fc.tuple(config, fc.option(state)),
  fc.tuple(known, fc.option(state)),
  related,
  related.chain(([, prior]) => config.map((configured): [CtyObject, CtyObject] => [configured, prior])),
);

describe('a plan', () => {
  it('is one that a host accepts', () => {
    fc.assert(
      fc.property(cases, wasManaged, ([configured, prior], managed) => {
        const planned = plannedAttributes({ attributes, config: configured, prior, wasManaged: managed });
        expect(planProblems(attributes, { config: configured, prior, planned })).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('is the same when repeated on its own result', () => {
    fc.assert(
      fc.property(cases, wasManaged, ([configured, prior], managed) => {
        const first = plannedAttributes({ attributes, config: configured, prior, wasManaged: managed });
        const again = plannedAttributes({ attributes, config: configured, prior: first, wasManaged: managed });
        expect(again).toEqual(first);
      }),
      { numRuns: 300 },
    );
  });

  it('of something new has only the fields of the configuration', () => {
    fc.assert(
      fc.property(config, (configured) => {
        const planned = plannedAttributes({ attributes, config: configured, prior: null, wasManaged: () => false });
        const { id: _id, token: _token, ...rest } = planned;
        const { id: __id, token: __token, ...expected } = configured;
        expect(rest).toEqual(expected);
      }),
    );
  });

  it('releases everything that was managed if the configuration is empty', () => {
    fc.assert(
      fc.property(known, (configured) => {
        const managed = new Set(managedPaths(attributes, configured));
        const nothing = objectOf(Object.keys(attributes).map((name) => [name, null]));
        const prior = objectOf(
          Object.entries(configured).map(([name, value]) => [name, name === 'token' ? null : value]),
        );
        const wasSet = (path: string) => managed.has(path);
        expect(plannedAttributes({ attributes, config: nothing, prior, wasManaged: wasSet })).toEqual(nothing);
      }),
    );
  });

  it('keeps observed values that were never managed', () => {
    fc.assert(
      fc.property(state, (found) => {
        const nothing = objectOf(Object.keys(attributes).map((name) => [name, null]));
        const planned = plannedAttributes({ attributes, config: nothing, prior: found, wasManaged: () => false });
        expect(planned).toEqual({ ...found, name: null, note: null });
      }),
    );
  });
});
