import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { CONTRACT_VERSION, CONTRACTS, contractJsonSchema, DEPRECATED_OUTPUTS, outputValuesSchema } from './contract.ts';
import { stackOutputs } from './outputs.ts';
import { STACK, STATE, stackOf, stateOf } from './testing/lab.ts';

const VALUES = stackOutputs(STACK, STATE).values;
const SCHEMA = JSON.parse(contractJsonSchema());

describe('the schema of the contract', () => {
  // Written anew by `proxwright output --format schema`, then formatted. A difference that takes something away from a
  // reader, or changes its shape, needs a new CONTRACT_VERSION.
  it('is the one that is kept beside it', async () => {
    const kept = await readFile(new URL('contract.schema.json', import.meta.url), 'utf8');
    expect(SCHEMA).toEqual(JSON.parse(kept));
  });

  it('names and requires every output, and no other', () => {
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

  it('is not kept without a key, or with another shape', () => {
    const { vm_ids: _, ...fewer } = VALUES;
    expect(outputValuesSchema.safeParse(fewer).success).toBe(false);
    expect(outputValuesSchema.safeParse({ ...VALUES, talos_node_ips: { a: 'unknown' } }).success).toBe(false);
    expect(outputValuesSchema.safeParse({ ...VALUES, contract_version: CONTRACT_VERSION + 1 }).success).toBe(false);
  });

  it('marks old names', () => {
    const marked = Object.entries(SCHEMA.properties).filter(([, value]) => (value as { deprecated?: true }).deprecated);
    expect(marked.map(([name]) => name)).toEqual(Object.keys(DEPRECATED_OUTPUTS));
  });
});

describe('the contract for Talos', () => {
  it('has everything but the VMs of other kinds', () => {
    const others = Object.keys(VALUES).filter((name) => !CONTRACTS.talos?.some((each) => each === name));
    expect(others).toEqual(['vms']);
  });
});
