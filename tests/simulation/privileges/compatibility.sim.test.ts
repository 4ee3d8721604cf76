/** The table of releases beside what servers of these releases have. */
import { describe, expect, it } from 'vitest';
import { privilegesOf, ROLES } from '../../../src/engine/compatibility.ts';
import { PRIVILEGES } from '../../../src/simulator/access/privileges.ts';
import { builtInRoles } from '../../../src/simulator/access/roles.ts';

describe('the table of releases', () => {
  it('knows exactly the privileges that a server has', () => {
    expect([...privilegesOf({ version: '9.2.11' })].sort()).toEqual([...PRIVILEGES[9]].sort());
    expect([...privilegesOf({ version: '8.4.1' })].sort()).toEqual([...PRIVILEGES[8]].sort());
    expect(privilegesOf({ version: '8.1.4' }).has('Sys.AccessNetwork')).toBe(false);
  });

  it('knows exactly the roles that come with a server', () => {
    expect(Object.keys(ROLES).sort()).toEqual([...builtInRoles(9).keys()].sort());
    expect(Object.keys(ROLES).sort()).toEqual([...builtInRoles(8).keys()].sort());
  });
});
