/** Every field row against Proxmox: key, sub-key, words, effect, drives, secrecy and default are what the server has. */
import { describe, expect, it } from 'vitest';
import { vmFieldRows } from '../../../src/kinds/vm/fields/rows.ts';
import { isReference } from './api-truth.ts';
import { BOUND_PATHS, rowProblems } from './row-problems.ts';

describe('a field row', () => {
  it.each(BOUND_PATHS)('is true of %s', async (path) => {
    expect(await rowProblems(path)).toEqual([]);
  });
});

describe('the rows', () => {
  it('mark as secret exactly the fields that refer to a value kept elsewhere', () => {
    const references = vmFieldRows().filter(({ schema }) => isReference(schema));
    expect(references.length).toBeGreaterThan(3);
    const marked = vmFieldRows().filter(({ facts }) => facts.secret);
    expect(marked.map(({ path }) => path)).toEqual(references.map(({ path }) => path));
  });
});
