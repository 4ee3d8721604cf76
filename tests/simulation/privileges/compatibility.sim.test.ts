/** The table of releases beside what servers of these releases have. */
import { describe, expect, it } from 'vitest';
import { privilegesOf, ROLES } from '../../../src/pve/compatibility.ts';
import { builtInRoles, privilegesOf as simulatedPrivileges } from '../../../src/simulator/access/privileges.ts';
import { RELEASES } from '../../../src/simulator/world/releases.ts';

const VERSIONS = Object.values(RELEASES).map(({ version }) => version);

describe('the table of releases', () => {
  it.each(VERSIONS)('knows exactly the privileges that a server of %s has', (version) => {
    expect([...privilegesOf({ version })].sort()).toEqual([...simulatedPrivileges(version)].sort());
  });

  it.each(VERSIONS)('knows exactly the roles that come with a server of %s', (version) => {
    expect(Object.keys(ROLES).sort()).toEqual([...builtInRoles(version).keys()].sort());
  });
});
