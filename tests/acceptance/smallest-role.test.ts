/**
 * The smallest role on a server that judges for itself: a user and a token get exactly what is computed for the whole life of
 * a stack, and carry that life from the first plan to the last free id. Before each step every single privilege is taken away
 * once: the plan must be refused with its name, and nothing created. It needs an administrator's token, and removes what it created.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { formatDiagnostic } from '../../src/base/diagnostics.ts';
import { observe } from '../../src/engine/observe.ts';
import type { PlanResult } from '../../src/engine/plan.ts';
import { assumedNeeds } from '../../src/engine/privileges/assumed.ts';
import { Grants } from '../../src/engine/privileges/grants.ts';
import { printPath, type Requirement } from '../../src/engine/privileges/requirement.ts';
import { type RoleOptions, type RoleSet, smallestRoles } from '../../src/engine/privileges/roles.ts';
import { emptyState } from '../../src/kinds/recorded.ts';
import { propertyOf } from '../../src/kinds/vm/config/parts.ts';
import type { Pve } from '../../src/pve/index.ts';
import { Account } from './account.ts';
import { leftovers, removeLeftovers } from './engine/leftovers.ts';
import { apply, destroy, plan, planDestroy, type Runs, requirements, resolved } from './engine/runs.ts';
import { findTarget, type Target } from './engine/target.ts';
import { stackText, type Version } from './privileges/stack.ts';
import { type Grant, missingForAdministration, Tenant } from './privileges/tenant.ts';
import { type AcceptanceServer, openServer } from './server.ts';
import { stepsOf } from './steps.ts';

/** Where the rights on VMs are given: on each VM, on all of them, or on the pool they are put into. */
const FORMS = [
  { form: 'entries on each VM', vms: 'each', inPool: false },
  { form: 'one entry on all VMs', vms: 'all', inPool: false },
  { form: 'entries on a pool', vms: 'each', inPool: true },
] as const;

/** The recorded node has no KVM; the guest of this template boots without, answers its agent and obeys a shutdown. */
const SIMULATED = {
  PROXWRIGHT_ACCEPTANCE_TEMPLATE: 'debian-agent-tpl',
  PROXWRIGHT_ACCEPTANCE_POWER: 'running',
  PROXWRIGHT_ACCEPTANCE_FIELDS: '{"kvm":false}',
};

/** A guest without KVM takes minutes to boot, and is waited for. */
const STEP_TIMEOUT_MS = 15 * 60_000;

const account = new Account();
let server: AcceptanceServer;
let administration: ReturnType<AcceptanceServer['openApi']>;
let target: Target;
let isAdministrator = false;
let hasAgent = false;

beforeAll(async () => {
  server = await openServer();
  administration = server.openApi();
  const missing = await missingForAdministration(server.pve);
  isAdministrator = missing.length === 0;
  if (!isAdministrator) {
    account.checked(`smallest role: nothing, because the token is no administrator's: it lacks ${missing.join(', ')}`);
  }
  target = await findTarget(server.pve, server.isLive ? process.env : { ...SIMULATED, ...process.env });
  hasAgent = await answersAgent(server.pve, target);
});

afterAll(async () => {
  account.print();
  await administration?.close();
  await server?.close();
});

describe.each(FORMS)('the smallest role with $form', ({ form, vms, inPool }) => {
  const name = `acceptance-${randomBytes(4).toString('hex')}`;
  const directory = mkdtempSync(join(tmpdir(), 'proxwright-acceptance-'));
  const pool = inPool ? name : undefined;
  let tenant: Tenant;
  let token: Pve;
  let runs: Runs;
  /** Those without which some plan was refused. */
  const proven = new Set<string>();

  const text = (version: Version) => stackText({ name, target, hasAgent, pool, version });

  afterAll(async () => {
    try {
      if (!isAdministrator || !tenant) return;
      for (const line of await removeLeftovers(server.pve, target, name)) account.checked(line);
      await tenant.remove();
      if (pool !== undefined) await server.pve.pools.delete(pool);
      expect((await server.pve.access.acl()).filter(({ ugid }) => ugid.startsWith(name))).toEqual([]);
      expect((await server.pve.access.roles()).filter(({ roleid }) => roleid.startsWith(name))).toEqual([]);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  const step = stepsOf(account, {
    missing: () => (isAdministrator ? undefined : "the token is no administrator's"),
    label: form,
    timeoutMs: STEP_TIMEOUT_MS,
  });

  /** As `permissions --lifecycle` computes it from what this token sees. */
  async function lifecycleRoles(pve: Pve): Promise<RoleSet> {
    const { clock } = server;
    const stack = resolved(text('made'));
    const replace = stack.vms.map(({ address }) => address);
    const observed = await observe({ pve, stack, state: emptyState(stack.name), replace });
    const { version } = observed;
    const found = assumedNeeds({ stack, version, observed, now: clock.now(), lifecycle: true });
    if (!found.ok) throw new Error(found.problems.map(formatDiagnostic).join('\n'));
    expect(found.guesses).toEqual([]);
    const known = (await pve.access.roles()).find(({ roleid }) => roleid === 'Administrator')?.privs;
    const options: RoleOptions = { version, vms, name, ...(known && { known: new Set(known) }) };
    return smallestRoles(found.needs.requirements, options);
  }

  /** Every single one is taken away once; those that the plan needs must be missed, and no others. */
  async function sweep(planned: () => Promise<PlanResult>, needed: readonly Requirement[]): Promise<number> {
    let refusals = 0;
    for (const grant of tenant.grants) {
      const words = `without ${printGrant(grant)}`;
      await tenant.without(grant, async () => {
        const unmet = await unmetOf(needed);
        const result = await planned();
        const said = result.ok ? '' : result.problems.map(formatDiagnostic).join('\n');
        expect(result.ok, `${words}: ${said}`).toBe(unmet.length === 0);
        if (unmet.length === 0) return;
        expect(said, words).toContain(grant.privilege);
        expect(
          unmet.some(({ paths }) => paths.some((path) => said.includes(printPath(path)))),
          said,
        ).toBe(true);
        proven.add(printGrant(grant));
        refusals++;
      });
    }
    expect((await planned()).ok, 'with everything back').toBe(true);
    return refusals;
  }

  async function unmetOf(needed: readonly Requirement[]): Promise<Requirement[]> {
    const grants = new Grants(token);
    await grants.ask(needed.flatMap(({ paths }) => paths.map(({ path }) => path)));
    return needed.filter((requirement) => !grants.holds(requirement));
  }

  const digests = () =>
    Promise.all(
      [0, 1].map(
        async (index) =>
          (
            await server.pve
              .node(target.node)
              .vm(target.ids.first + index)
              .config.get()
          ).digest,
      ),
    );

  /** No difference left, and nothing that would have to be done. */
  async function expectNoChanges(version: Version): Promise<void> {
    const result = await plan(runs, text(version));
    expect(result).toMatchObject({ ok: true, plan: { steps: [] } });
  }

  step('is made for a user and a token that have nothing', async () => {
    if (pool !== undefined) await server.pve.pools.create({ poolid: pool, comment: 'proxwright acceptance' });
    tenant = new Tenant(server.pve, administration.api, name);
    token = server.connect({ credentials: await tenant.create() });
    runs = { pve: token, clock: server.clock, stateDirectory: join(directory, 'state') };
    const refused = await plan(runs, text('made'));
    expect(refused.ok).toBe(false);
    await tenant.grant(await lifecycleRoles(server.pve));
    expect(await lifecycleRoles(token), 'computed with the token itself').toEqual(tenant.granted);
    return `${tenant.grants.length} grants: ${summary(tenant.grants)}`;
  });

  step('is refused a plan without any one that it needs', async () => {
    const needed = await requirements(runs, text('made'), 'apply');
    const refusals = await sweep(() => plan(runs, text('made')), needed);
    expect(await leftovers(server.pve, target)).toEqual([]);
    return `plan of a clone and a creation, refused ${refusals} times without one privilege, and nothing was made`;
  });

  step('makes a clone and a VM of its own', async () => {
    const { changes } = await apply(runs, text('made'));
    expect(changes.map(({ kind }) => kind)).toEqual(['create', 'create']);
    await expectNoChanges('made');
    expect(await lifecycleRoles(token), 'computed when the VMs are there').toEqual(tenant.granted);
    return 'a clone and a created VM made, the next plan is empty, and the role is still the same';
  });

  step('is refused a change without any one that it needs', async () => {
    const before = await digests();
    const needed = await requirements(runs, text('changed'), 'apply');
    const refusals = await sweep(() => plan(runs, text('changed')), needed);
    expect(await digests()).toEqual(before);
    return `plan of a change, refused ${refusals} times, and nothing was changed`;
  });

  step('changes, grows, switches on and restarts them', async () => {
    const { steps: done } = await apply(runs, text('changed'));
    const actions = new Set(done.map(({ action }) => action));
    expect(actions).toContain('vm.start');
    expect(actions.has('vm.restart')).toBe(target.power === 'running');
    await expectNoChanges('changed');
    return `changed with ${[...actions].sort().join(', ')}, and the next plan is empty`;
  });

  step('corrects what another client changed', async () => {
    await server.pve.node(target.node).vm(target.ids.first).config.put({ tags: 'acceptance;changed;foreign' });
    const drifted = await plan(runs, text('changed'));
    expect(drifted).toMatchObject({ ok: true, plan: { changes: [{ kind: 'update' }, { kind: 'none' }] } });
    await apply(runs, text('changed'));
    await expectNoChanges('changed');
    return 'a foreign change mended';
  });

  step('is refused the end without any one that it needs', async () => {
    const before = await digests();
    const needed = await requirements(runs, text('changed'), 'destroy');
    const refusals = await sweep(() => planDestroy(runs, text('changed')), needed);
    expect(await digests()).toEqual(before);
    return `plan of the end, refused ${refusals} times`;
  });

  step('destroys them and leaves nothing', async () => {
    await destroy(runs, text('changed'));
    expect(await leftovers(server.pve, target)).toEqual([]);
    const spare = tenant.grants.map(printGrant).filter((grant) => !proven.has(grant));
    return `destroyed; ${proven.size} grants were each needed by some plan, ${spare.join(', ') || 'and none was spare'}`;
  });
});

const printGrant = ({ privilege, path }: Grant) => `${privilege} on ${path}`;

/** Whether guests of the template are asked: only those that run, and have an agent to ask. */
async function answersAgent(pve: Pve, { node, template, power }: Target): Promise<boolean> {
  if (power !== 'running') return false;
  const { values } = await pve.node(node).vm(template).config.get();
  return propertyOf('agent', values.get('agent')).get('enabled') === '1';
}

function summary(grants: readonly Grant[]): string {
  const byPath = new Map<string, string[]>();
  for (const { path, privilege } of grants) byPath.set(path, [...(byPath.get(path) ?? []), privilege]);
  return [...byPath].map(([path, privileges]) => `${path}: ${privileges.join(' ')}`).join('; ');
}
