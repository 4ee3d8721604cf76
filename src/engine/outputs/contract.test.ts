import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { CONTRACT_VERSION, CONTRACTS, contractJsonSchema, DEPRECATED_OUTPUTS, outputValuesSchema } from './contract.ts';
import { stackOutputs } from './outputs.ts';
import { STACK, STATE, stackOf, stateOf } from './testing/lab.ts';

const VALUES = stackOutputs(STACK, STATE).values;
const SCHEMA = JSON.parse(contractJsonSchema());

describe('the contract schema', () => {
  // Written anew by `proxwright output --format schema`, then formatted. A difference that takes something away from a
  // reader, or changes its shape, needs a new CONTRACT_VERSION.
  it('matches the committed file', async () => {
    const kept = await readFile(new URL('contract.schema.json', import.meta.url), 'utf8');
    expect(SCHEMA).toEqual(JSON.parse(kept));
  });

  it('contains and requires exactly the outputs', () => {
    expect(Object.keys(SCHEMA.properties)).toEqual(Object.keys(VALUES));
    expect(SCHEMA.required).toEqual(Object.keys(VALUES));
    const [first] = Object.values(VALUES.vms);
    const { properties, required } = SCHEMA.properties.vms.additionalProperties;
    expect(Object.keys(properties)).toEqual(Object.keys(first ?? {}));
    expect(required).toEqual(Object.keys(first ?? {}));
  });

  it.each([
    ['with all sorts of VMs', VALUES],
    ['without any', stackOutputs(stackOf([]), stateOf({})).values],
    ['of which nothing exists', stackOutputs(STACK, stateOf({})).values],
  ])('is kept by the outputs of a stack %s', (_, values) => {
    expect(outputValuesSchema.safeParse(values)).toMatchObject({ success: true });
  });

  it('rejects a missing key and another shape', () => {
    const { vm_ids: _, ...fewer } = VALUES;
    expect(outputValuesSchema.safeParse(fewer).success).toBe(false);
    expect(outputValuesSchema.safeParse({ ...VALUES, talos_node_ips: { a: 'unknown' } }).success).toBe(false);
    expect(outputValuesSchema.safeParse({ ...VALUES, contract_version: CONTRACT_VERSION + 1 }).success).toBe(false);
  });

  it('marks deprecated names', () => {
    const marked = Object.entries(SCHEMA.properties).filter(([, value]) => (value as { deprecated?: true }).deprecated);
    expect(marked.map(([name]) => name)).toEqual(Object.keys(DEPRECATED_OUTPUTS));
  });
});

describe('the contract for Talos', () => {
  it('contains everything except other VMs', () => {
    const others = Object.keys(VALUES).filter((name) => !CONTRACTS.talos?.some((each) => each === name));
    expect(others).toEqual(['vms']);
  });
});
