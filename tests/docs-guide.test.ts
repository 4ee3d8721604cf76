/** What the guide for beginners shows is what happens: its stack, its plans, and that its role is enough for them. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../src/base/log.ts';
import { seededRandom } from '../src/base/random.ts';
import { VirtualClock } from '../src/base/virtual-clock.ts';
import { readExample, STACK_FILE } from '../src/cli/examples.ts';
import { renderPlan } from '../src/cli/views/plan/plan.ts';
import { plainPaint } from '../src/cli/views/text/paint.ts';
import {
  isEmpty,
  loadStack,
  type Plan,
  type PlanResult,
  type ResolvedStack,
  resolveStack,
  Session,
} from '../src/engine/index.ts';
import { createPve, parseToken } from '../src/pve/index.ts';
import { buildWorld, createSimulator, type World } from '../src/simulator/index.ts';
import { DEFAULT_WORLD } from '../src/simulator/world/default-world.ts';
import { MemoryStore } from '../src/state/memory-store.ts';

const UBUNTU = (await readExample('ubuntu')).files.get(STACK_FILE) ?? '';
const SECRET = '11111111-2222-4333-8444-555555555555';
const page = () => readFile(new URL('../docs/guide/getting-started.md', import.meta.url), 'utf8');

function stackOf(text: string): ResolvedStack {
  const { stack, diagnostics } = resolveStack(loadStack(text, 'stack.yaml'));
  if (!stack) throw new Error(JSON.stringify(diagnostics));
  return stack;
}

interface Grant {
  readonly path: string;
  readonly role: string;
}

/** The cluster of `proxwright sim`, with a user who has these rights. */
function worldFor(clock: VirtualClock, privileges: readonly string[], grants: readonly Grant[]): World {
  const user = { tokens: { docs: { secret: SECRET, privsep: false } } };
  return buildWorld(
    {
      ...DEFAULT_WORLD,
      users: { ...DEFAULT_WORLD.users, 'docs@pve': user },
      roles: { Proxwright: [...privileges] },
      acl: grants.map(({ path, role }) => ({ path, role, user: 'docs@pve' })),
    },
    { now: clock.now(), file: 'docs' },
  );
}

/** One command after the other on one cluster, each with the stack file as it is then. */
class Beginner {
  readonly #clock = new VirtualClock();
  readonly #store = new MemoryStore();
  readonly #pve;

  constructor(privileges: readonly string[] = [], grants: readonly Grant[] = [{ path: '/', role: 'Administrator' }]) {
    const clock = this.#clock;
    const world = worldFor(clock, privileges, grants);
    const simulator = createSimulator({ world, clock, random: seededRandom(1) });
    const credentials = parseToken(`docs@pve!docs=${SECRET}`);
    this.#pve = createPve({ transport: simulator.transport(), credentials, clock, random: seededRandom(2) });
  }

  run<Result>(text: string, work: (session: Session) => Promise<Result>): Promise<Result> {
    return this.#clock.run(async () => {
      const session = await Session.open({
        stack: stackOf(text),
        pve: this.#pve,
        clock: this.#clock,
        random: seededRandom(3),
        log: silentLogger,
        store: this.#store,
        ports: { isOpen: async () => false },
        signal: new AbortController().signal,
        secrets: new Map(),
        owner: { who: 'docs', host: 'here', pid: 1, command: 'apply' },
      });
      try {
        return await work(session);
      } finally {
        await session.close();
      }
    });
  }
}

function shown(result: PlanResult): string {
  return result.ok ? `${renderPlan(result.plan, plainPaint).join('\n')}\n` : JSON.stringify(result.problems);
}

async function outcomesOf(session: Session, plan: Plan): Promise<string[]> {
  const { outcomes, problems } = await session.execute(plan);
  return [...outcomes].map(([address, outcome]) => problems.get(address)?.code ?? outcome);
}

describe('the first stack', () => {
  it('is the example that init writes, without its comments', async () => {
    const [, written = ''] = /^```yaml\n([\s\S]*?)^```/m.exec(await page()) ?? [];
    const withoutPositions = (text: string) => stackOf(text).vms.map(({ address, fields }) => ({ address, fields }));
    expect(withoutPositions(written)).toEqual(withoutPositions(UBUNTU));
  });

  it('has the plans that are shown', async () => {
    const [first, second] = [...(await page()).matchAll(/^```text\n([\s\S]*?)^```/gm)].map(([, block]) => block);
    const beginner = new Beginner();
    await beginner.run(UBUNTU, async (session) => {
      const result = await session.plan();
      expect(shown(result)).toBe(first);
      if (result.ok) expect(await outcomesOf(session, result.plan)).toEqual(['done']);
    });
    const changed = UBUNTU.replace('memory: 4GiB', 'memory: 6GiB');
    await beginner.run(changed, async (session) => expect(shown(await session.plan())).toBe(second));
  });
});

/** What the page's commands make. */
async function roleOfPage(): Promise<{ readonly privileges: readonly string[]; readonly grants: readonly Grant[] }> {
  const text = await page();
  const [, privileges = ''] = /^pveum role add Proxwright --privs '([^']+)'$/m.exec(text) ?? [];
  const grants = [...text.matchAll(/^pveum acl modify (\S+) --users deploy@pve --roles (\S+)$/gm)].map(
    ([, path = '', role = '']) => ({ path, role }),
  );
  return { privileges: privileges.split(' '), grants };
}

/** A whole life of the first stack with these rights: how each part of it ended. */
async function live(privileges: readonly string[], grants: readonly Grant[]): Promise<readonly string[]> {
  return new Beginner(privileges, grants).run(UBUNTU, async (session) => {
    const planned = await session.plan();
    if (!planned.ok) return planned.problems.map(({ code }) => code);
    const made = await outcomesOf(session, planned.plan);
    const again = await session.plan();
    const removal = await session.planDestroy({ running: 'shutdown' });
    const removed = removal.ok ? await outcomesOf(session, removal.plan) : ['refused'];
    const notChecked = planned.plan.warnings.map(({ code }) => code);
    return [...notChecked, ...made, again.ok && isEmpty(again.plan) ? 'empty' : 'not empty', ...removed];
  });
}

describe('the role', () => {
  it('is enough to make the first stack, find it unchanged and destroy it, with nothing unchecked but reserved tags', async () => {
    const { privileges, grants } = await roleOfPage();
    expect(grants).toHaveLength(3);
    expect(await live(privileges, grants)).toEqual(['NOT_CHECKED', 'done', 'empty', 'done']);
  });

  it.each(['VM.Clone', 'VM.Audit', 'VM.Config.Memory', 'VM.PowerMgmt', 'VM.GuestAgent.Audit'])(
    'is not enough without %s',
    async (missing) => {
      const { privileges, grants } = await roleOfPage();
      const rest = privileges.filter((privilege) => privilege !== missing);
      expect(rest).toHaveLength(privileges.length - 1);
      expect(await live(rest, grants)).toContain('PRIVILEGE_MISSING');
    },
  );
});
