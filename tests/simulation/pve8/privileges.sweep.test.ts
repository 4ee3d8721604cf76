/** Whatever privilege our code asks for on a release, a server of that release knows it: a role can be made of them all. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isSince } from '../../../src/base/values/release.ts';
import { readingsOf } from '../../../src/engine/privileges/check.ts';
import { smallestRoles } from '../../../src/engine/privileges/roles.ts';
import { privilegeRules } from '../../../src/kinds/privileges/need.ts';
import { type AgentRequest, agentPrivileges } from '../../../src/kinds/vm/privileges/steps.ts';
import { PRIVILEGES } from '../../../src/pve/compatibility.ts';
import { createPve, parseToken } from '../../../src/pve/index.ts';
import { createSimulator, seededRandom, VirtualClock } from '../../../src/simulator/index.ts';
import { knownReleases, RELEASES } from '../../../src/simulator/world/releases.ts';
import { IS_SAMPLE, someOf } from '../../support/depth.ts';
import { resolved, TOKEN_SECRET } from '../engine/support/scene.ts';
import { firstPicture, runPhase, type Scenario } from '../privileges/support/bench.ts';
import { SCENARIOS } from '../privileges/support/scenarios.ts';
import { worldFileOf, worldOf } from './support/worlds.ts';

/** The oldest of each kind of server is followed through whole lives, the others through their beginnings. */
const FOLLOWED = IS_SAMPLE ? [] : ['8.0.', '9.0.'];
const AGENT_REQUESTS: readonly AgentRequest[] = ['question', 'file-read', 'exec'];

async function askedFor(version: string): Promise<Set<string>> {
  const asked = new Set<string>();
  const rules = privilegeRules({ version });
  for (const request of AGENT_REQUESTS) for (const each of agentPrivileges(request, rules)) asked.add(each);
  for (const scenario of SCENARIOS.filter((each) => isPossible(each, version))) {
    const file = worldFileOf(version);
    let from = firstPicture(scenario.world?.(file) ?? file);
    for (const phase of FOLLOWED.some((release) => version.startsWith(release))
      ? scenario.phases
      : scenario.phases.slice(0, 1)) {
      const end = await runPhase(from, phase);
      expect(end.outcome, `${scenario.name} ${phase.name}: ${end.problems.map(({ detail }) => detail)}`).toBe('done');
      const requirements = end.check?.requirements ?? [];
      const readings = readingsOf(resolved(phase.stack), requirements);
      for (const { privileges } of [...requirements, ...readings]) for (const each of privileges) asked.add(each);
      const { roles } = smallestRoles(requirements, { version: { version }, vms: 'all' });
      for (const { privileges } of roles) for (const each of privileges) asked.add(each);
      from = end.after;
    }
  }
  return asked;
}

/** Files to import came with 8.3. */
function isPossible({ phases }: Scenario, version: string): boolean {
  return isSince(version, '8.3') || !phases.some(({ stack }) => /import_from|content: import/.test(stack));
}

describe.each(someOf(knownReleases()))('on Proxmox VE %s', (version) => {
  it('asks only for privileges that a role can hold', async () => {
    const asked = await askedFor(RELEASES[version]?.version ?? version);
    const clock = new VirtualClock();
    const world = worldOf(version)({ now: clock.now() });
    const pve = createPve({
      transport: createSimulator({ world, clock, random: seededRandom('roles') }).transport(),
      credentials: parseToken(`root@pam!admin=${TOKEN_SECRET}`),
      clock,
    });
    await clock.run(() => pve.access.addRole({ roleid: 'Everything', privs: [...asked].join(',') }));
    expect([...(world.access.roles.get('Everything')?.privileges ?? [])].sort()).toEqual([...asked].sort());
    expect(asked.size).toBeGreaterThan(15);
  });
});

describe('the source', () => {
  it('names no privilege that no release has', async () => {
    const entries = await readdir('src', { recursive: true, withFileTypes: true });
    const files = entries.filter(({ name }) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
    const texts = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')));
    const named = texts.flatMap((text) => text.match(PRIVILEGE) ?? []).map((match) => match.slice(1, -1));
    expect(named.length).toBeGreaterThan(100);
    // The one family that is named as a whole.
    expect([...new Set(named)].filter((name) => !(name in PRIVILEGES))).toEqual(['VM.GuestAgent']);
  });
});

const PRIVILEGE = /'(?:Datastore|Group|Mapping|Permissions|Pool|Realm|SDN|Sys|User|VM)\.[A-Z][A-Za-z.]+'/g;
