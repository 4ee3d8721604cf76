/**
 * For every kind of step: with exactly the computed rights a phase passes; with any single one taken away it is refused before
 * anything is written, naming privilege and path; and the server itself refuses as well when the check is skipped. Of
 * alternatives each one will do.
 */
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../../src/base/diagnostics.ts';
import type { Requirement } from '../../../src/engine/privileges/requirement.ts';
import { actionNames } from '../../../src/kinds/registry.ts';
import { byDepth, someOf } from '../../support/depth.ts';
import {
  exactGrants,
  firstPicture,
  type Grant,
  type PhaseEnd,
  type Picture,
  printGrant,
  runPhase,
  type Scenario,
} from './support/bench.ts';
import { SCENARIOS, SERVERS, type ServerKind } from './support/scenarios.ts';

const explain = (end: PhaseEnd) => end.problems.map(formatDiagnostic).join('\n');

interface Prepared {
  readonly from: Picture;
  readonly requirements: readonly Requirement[];
  readonly grants: readonly Grant[];
  /** For reading what the phase leaves as it is: a plan covers the whole stack. */
  readonly readGrants: readonly Grant[];
  readonly actions: readonly string[];
}

/** The administrator goes ahead, so that each phase has a world to start from and a plan to be judged. */
async function prepare(server: ServerKind, scenario: Scenario): Promise<Prepared[]> {
  const prepared: Prepared[] = [];
  let from = firstPicture(scenario.world?.(server.world) ?? server.world);
  for (const phase of scenario.phases) {
    const end = await runPhase(from, phase);
    expect(end.outcome, `${scenario.name} ${phase.name}: ${explain(end)}`).toBe('done');
    const requirements = end.check?.requirements ?? [];
    const actions = end.plan?.steps.map(({ action }) => action) ?? [];
    const readGrants = standing(end).filter((grant) => !exactGrants(requirements).some((each) => isSame(each, grant)));
    prepared.push({ from, requirements, grants: exactGrants(requirements), readGrants, actions });
    from = end.after;
  }
  return prepared;
}

/**
 * A hook runs on this machine. A rollback is asked for by a command of its own. Without the privilege to read them, HA rules
 * are not kept, and the plan says so.
 */
const OTHER_STEPS = new Set(['vm.hook', 'vm.rollback', 'ha-rule.keep', 'ha-rule.leave']);

describe.each(SERVERS.slice(0, byDepth(1, SERVERS.length)))('on $name', (server) => {
  const taken = new Set<string>();

  describe.each(SCENARIOS)('$name', (scenario) => {
    let cached: Promise<Prepared[]> | undefined;
    const phaseOf = async (index: number): Promise<Prepared> => {
      cached ??= prepare(server, scenario);
      const found = (await cached)[index];
      if (!found) throw new Error('no such phase');
      for (const action of found.actions) taken.add(action);
      return found;
    };

    it.each(scenario.phases.map((phase, index) => ({ phase, index })))(
      'passes $phase.name with exactly the computed rights',
      async ({ phase, index }) => {
        const { from, grants, readGrants } = await phaseOf(index);
        const end = await runPhase(from, phase, { grants: [...readGrants, ...grants] });
        expect(explain(end)).toBe('');
        expect(end.outcome).toBe('done');
      },
    );

    it.each(scenario.phases.map((phase, index) => ({ phase, index })))(
      'fails $phase.name without any one of them, by our check and by the server',
      async ({ phase, index }) => {
        const { from, requirements, grants, readGrants } = await phaseOf(index);
        for (const missing of someOf(grants)) {
          const rest = [...readGrants, ...grants.filter((grant) => grant !== missing)];
          const checked = await runPhase(from, phase, { grants: rest });
          expect(checked.outcome, `without ${printGrant(missing)}`).toBe('refused');
          expect(checked.writes, `without ${printGrant(missing)}`).toEqual([]);
          for (const { privileges } of requirements.filter((each) => !isMet(each, rest))) {
            expect(explain(checked), `without ${printGrant(missing)}`).toMatch(new RegExp(privileges.join('|')));
          }
          expect(explain(checked), `without ${printGrant(missing)}`).toContain(pathToName(missing));
          const unchecked = await runPhase(from, phase, { grants: rest, check: 'ignore' });
          expect(unchecked.outcome, `unchecked, without ${printGrant(missing)}`).not.toBe('done');
        }
      },
    );

    it.each(scenario.phases.map((phase, index) => ({ phase, index })))(
      'passes $phase.name with each of the alternatives',
      async ({ phase, index }) => {
        const { from, requirements, grants, readGrants } = await phaseOf(index);
        for (const { privileges, paths, instead } of someOf(requirements)) {
          if (instead) {
            const all = instead.map((each) => ({
              privilege: each.privileges[0],
              path: each.paths[0].path,
              propagate: false,
            }));
            const others = grants.filter((grant) => !isMet({ privileges, paths }, [grant]));
            const end = await runPhase(from, phase, { grants: [...readGrants, ...others, ...all] });
            expect(explain(end), `with ${all.map(printGrant)}`).toBe('');
          }
          const others = paths.flatMap(({ path, below = false }) =>
            privileges.map((privilege) => ({ privilege, path, propagate: below })),
          );
          if (others.length < 2) continue;
          for (const other of others) {
            const instead = [...grants.filter((grant) => !others.some((each) => isSame(each, grant))), other];
            // Something else may need exactly what would be replaced.
            if (!requirements.every((requirement) => isMet(requirement, instead))) continue;
            const end = await runPhase(from, phase, { grants: [...readGrants, ...instead] });
            expect(explain(end), `with ${printGrant(other)}`).toBe('');
            expect(end.outcome, `with ${printGrant(other)}`).toBe('done');
          }
        }
      },
    );
  });

  it('takes every kind of step of an apply that a privilege decides', () => {
    expect([...taken].sort()).toEqual(
      actionNames()
        .filter((name) => !OTHER_STEPS.has(name))
        .sort(),
    );
  });
});

/** Machines of the stack that the phase finds, and leaves alone. */
function standing({ plan }: PhaseEnd): Grant[] {
  const idle = plan?.changes.filter(({ kind, vmid }) => kind === 'none' && vmid !== undefined) ?? [];
  return idle.map(({ vmid }) => ({ privilege: 'VM.Audit', path: `/vms/${vmid}`, propagate: false }));
}

const isSame = (a: Grant, b: Grant) => printGrant(a) === printGrant(b);

function isMet({ privileges, paths }: Pick<Requirement, 'privileges' | 'paths'>, grants: readonly Grant[]): boolean {
  return grants.some(
    ({ privilege, path, propagate }) =>
      privileges.includes(privilege) &&
      paths.some((each) =>
        each.path === path ? !each.below || propagate : propagate && each.path.startsWith(`${path}/`),
      ),
  );
}

/** A template that cannot be seen was asked for by its name, so its path is not known. */
function pathToName({ privilege, path }: Grant): string {
  return privilege === 'VM.Audit' && /^\/vms\/9\d+$/.test(path) ? '/vms' : path;
}
