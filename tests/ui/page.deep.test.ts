/**
 * The page in a real browser, on the simulator: every view, a run while it grows, a failed one, 300 VMs, light and dark, the
 * keyboard alone. axe looks at each view.
 */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { OWN_LANGUAGE } from '../../src/base/hint.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { groupedBy } from '../../src/base/values/groups.ts';
import { runApply } from '../../src/cli/commands/change/apply.ts';
import { runUi } from '../../src/cli/commands/show/ui.ts';
import { PAGE } from '../../src/ui/page.generated.ts';
import type { Chart } from '../../src/ui/picture/chart.ts';
import { servePage } from '../../src/ui/server/server.ts';
import type {
  ChangeView,
  ClusterView,
  PageSource,
  PlanView,
  ViewName,
  ViewValues,
} from '../../src/ui/server/source.ts';
import { type Bench, openBench } from '../simulation/support/command-bench.ts';
import { launch, NO_CHROMIUM, openPage, seriousFindings, shoot, visit } from './chromium.ts';

const STACK = `version: 1
stack: lab
vms:
  db: { name: db, vmid: 601, node: pve1, guest: plain, clone: { template: ubuntu-24.04 } }
  web: { name: web, vmid: 602, node: pve1, guest: plain, clone: { template: ubuntu-24.04 }, tags: [web], after: [db] }
`;

const VIEWS = ['Cluster', 'Plan', 'Live', 'Runs', 'Drift', 'Outputs', 'Doctor'] as const;

interface Served {
  readonly link: string;
  stop(): Promise<void>;
}

/** The command itself, until it is told to stop. */
async function serve(bench: Bench): Promise<Served> {
  let stop = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  let ended: Promise<unknown> = Promise.resolve();
  const link = await new Promise<string>((resolve, reject) => {
    const terminal = {
      ...silentLogger,
      result: resolve,
      data: () => {},
      success: () => {},
      diagnostic: () => {},
      language: OWN_LANGUAGE,
    };
    ended = bench.run((deps) => runUi({ port: '0' }, { ...deps, terminal, stopRequested: () => stopped }));
    ended.catch(reject);
  });
  return {
    link,
    stop: async () => {
      stop();
      await ended;
    },
  };
}

describe.skipIf(NO_CHROMIUM !== undefined)(`the page in Chromium${NO_CHROMIUM ? ` (${NO_CHROMIUM})` : ''}`, () => {
  let browser: Browser;
  let bench: Bench;
  beforeAll(async () => {
    browser = await launch();
    bench = await openBench(STACK);
  });
  afterAll(async () => {
    await browser?.close();
    await bench?.close();
  });

  it('shows a run while it grows, and every view afterwards, by keyboard alone', async () => {
    const served = await serve(bench);
    const opened = await openPage(browser, served.link);
    const { page, complaints } = opened;
    await visit(page, 'Plan');
    await page.getByText('2 of 2 differ from the file').waitFor();
    await visit(page, 'Live');
    await page.getByText('No run has been recorded yet').waitFor();
    const apply = bench.run((deps) => runApply(undefined, { yes: true }, deps));
    await page.locator('svg [data-address="vm.db"]').waitFor();
    // The picture grows: a run in progress first, its end later.
    await page
      .getByText(/apply: done after/)
      .first()
      .waitFor();
    expect((await apply).code).toBe(0);
    await page.getByLabel('of').selectOption('vm.web');
    expect(await page.getByRole('region', { name: 'Log lines' }).textContent()).not.toContain('vm.db');
    await visit(page, 'Cluster');
    await page.getByText('vm.web').waitFor();
    await visit(page, 'Plan');
    await page.getByText('No changes: 2 of 2 match the file.').waitFor();
    expect((await bench.run((deps) => runApply(undefined, { yes: true }, deps))).code).toBe(0);
    await bench.outside.node('pve1').vm(602).config.put({ tags: 'by-hand' });
    await visit(page, 'Drift');
    await page.getByRole('row', { name: /tags.*by-hand.*web/ }).waitFor();
    await visit(page, 'Outputs');
    await page.getByRole('button', { name: /^Copy: vms/ }).waitFor();
    await visit(page, 'Doctor');
    await page.locator('.findings li').first().waitFor();
    await visit(page, 'Runs');
    await page.locator('tbody a').first().focus();
    await page.keyboard.press('Enter');
    await page.locator('svg [data-address="vm.web"]').waitFor();
    const deep = page.url();
    await page.goto('about:blank');
    await page.goto(deep);
    await page.locator('svg [data-address="vm.web"]').waitFor();
    expect(complaints).toEqual([]);
    await opened.context.close();
    await served.stop();
  });

  it.each(['light', 'dark'] as const)('has no serious finding of axe in any view, %s', async (scheme) => {
    const served = await serve(bench);
    const opened = await openPage(browser, served.link, scheme);
    const found: string[] = [];
    for (const view of VIEWS) {
      await visit(opened.page, view);
      if (view === 'Live') await opened.page.locator('svg [data-address="vm.web"]').waitFor();
      await shoot(opened.page, `${view}-${scheme}`);
      found.push(...(await seriousFindings(opened)).map((each) => `${view}: ${each}`));
    }
    expect(found).toEqual([]);
    await opened.context.close();
    await served.stop();
  });

  it('shows a failed run with the words of the server, as text', async () => {
    const own = await openBench(STACK, [
      { kind: 'task-fail', match: { path: 'clone' }, message: '</script><img src=x onerror=alert(1)>' },
    ] as never);
    await own.run((deps) => runApply(undefined, { yes: true }, deps));
    const served = await serve(own);
    const { page, context, complaints } = await openPage(browser, served.link);
    await page.getByRole('link', { name: 'Live' }).click();
    await page.locator('svg .pw-failed-row').first().waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
    await served.stop();
    await own.close();
  });

  it('shows 300 VMs', async () => {
    const chart: Chart = {
      runId: 'r1',
      command: 'apply',
      outcome: 'done',
      startedAt: '2026-01-01T00:00:00.000Z',
      spanMs: 302_000,
      rows: Array.from({ length: 300 }, (_, index) => ({
        address: `vm.worker[${index + 1}]`,
        status: 'done' as const,
        bars: [
          {
            kind: 'make',
            label: 'clone',
            fromMs: index * 1000,
            toMs: index * 1000 + 2000,
            outcome: 'done',
            words: 'clone',
          },
        ],
        marks: [],
      })),
      path: [],
      requests: [],
    };
    const server = await serveSource({
      run: async () => ({ chart, log: [] }),
      pulse: async () => ({ ok: true, value: 'r1 1' }),
    });
    const opened = await openPage(browser, `${server.link}#/lab/live`);
    await opened.page.locator('svg [data-address="vm.worker[300]"]').waitFor();
    await shoot(opened.page, '300');
    expect(await seriousFindings(opened)).toEqual([]);
    await opened.context.close();
    await server.close();
  });

  it('folds the plan and the cluster of 300 VMs, and opens what is asked for', async () => {
    const plan: PlanView = { changes: changesOf(300, true), steps: 1500, warnings: [], remarks: [] };
    const server = await serveSource({ view: async (_, name) => ({ ok: true, value: viewOf(name, plan) }) });
    const opened = await openPage(browser, `${server.link}#/lab/plan`);
    const { page, complaints } = opened;
    await page.getByText('300 of 300 differ from the file').waitFor();
    expect(await page.locator('.fold.card').count()).toBe(5);
    await shoot(page, '300-plan');
    expect(await seriousFindings(opened)).toEqual([]);
    // Nothing of a closed fold is drawn.
    expect(await page.getByRole('row', { name: /vm\.group4\[60\]/ }).count()).toBe(0);
    await page.locator('.members > summary').last().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /vm\.group4\[60\]/ }).waitFor();
    await page.getByRole('searchbox').fill('group2 vm-133');
    await page.getByText('1 of 300').waitFor();
    expect(await page.locator('.fold.card').count()).toBe(1);
    await visit(page, 'Cluster');
    expect(await page.locator('.family').count()).toBe(5);
    expect(await page.locator('.guests li').count()).toBe(0);
    await page.locator('.family > summary').first().focus();
    await page.keyboard.press('Enter');
    await page.locator('.guests li').nth(59).waitFor();
    await shoot(page, '300-cluster');
    expect(await seriousFindings(opened)).toEqual([]);
    expect(complaints).toEqual([]);
    await opened.context.close();
    await server.close();
  });

  it('shows 300 changes of which no two are equal, closed', async () => {
    const plan: PlanView = { changes: changesOf(300, false), steps: 300, warnings: [], remarks: [] };
    const server = await serveSource({ view: async (_, name) => ({ ok: true, value: viewOf(name, plan) }) });
    const opened = await openPage(browser, `${server.link}#/lab/plan`);
    const { page } = opened;
    await page.getByText('300 of 300 differ from the file').waitFor();
    expect(await page.locator('.fold.card').count()).toBe(300);
    expect(await page.locator('.fold.card table').count()).toBe(0);
    await page.locator('.fold.card > summary').nth(299).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /description.*number 300/ }).waitFor();
    await opened.context.close();
    await server.close();
  });

  it('fits a window of 400 pixels in every view, and shows of a new VM what it has of its template', async () => {
    const fingerprint = `fingerprint: "${Array.from({ length: 32 }, () => 'A4').join(':')}"`;
    const findings = [{ check: 'certificate', verdict: 'good', words: 'Pinned.', details: [fingerprint] }];
    const plan: PlanView = { changes: changesOf(2, false), steps: 2, warnings: [], remarks: ['pve1: memory 63GiB'] };
    const drifts = [
      { address: 'vm.a', name: 'a', isGone: false, fields: [{ path: 'memory', applied: '2GiB', actual: '4GiB' }] },
    ];
    const values = { doctor: findings, drift: drifts, runs: [], outputs: [{ name: 'vip', text: '10.0.20.10' }] };
    const shownBy = (name: ViewName) => (name in values ? values[name as keyof typeof values] : viewOf(name, plan));
    const server = await serveSource({ view: async (_, name) => ({ ok: true, value: shownBy(name) as never }) });
    const opened = await openPage(browser, server.link);
    const { page } = opened;
    await page.setViewportSize({ width: 400, height: 800 });
    const tooWide: string[] = [];
    // The live view of this server waits for a first run.
    for (const view of VIEWS.filter((each) => each !== 'Live')) {
      await visit(page, view);
      const over = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
      if (over !== 0) tooWide.push(`${view}: ${over}`);
      // Every link is in the window, not behind its edge.
      const edge = await page.getByRole('link', { name: 'Doctor', exact: true }).boundingBox();
      if (edge === null || edge.x + edge.width > 400) tooWide.push(`${view}: links`);
    }
    expect(tooWide).toEqual([]);
    await visit(page, 'Plan');
    expect(await page.getByRole('columnheader', { name: 'template' }).count()).toBe(2);
    expect(await page.getByRole('columnheader', { name: 'takes effect' }).count()).toBe(0);
    await opened.context.close();
    await server.close();
  });
});

/** A server of the page whose data a test gives. */
function serveSource(given: Partial<PageSource>) {
  const source: PageSource = {
    stacks: async () => [{ id: 'lab', name: 'lab', file: 'stack.yaml' }],
    view: async () => ({ ok: false, problems: [] }),
    run: async () => undefined,
    report: async () => undefined,
    pulse: async () => undefined,
    ...given,
  };
  return servePage({ source, files: PAGE, clock: systemClock, random: systemRandom, log: silentLogger });
}

/** In five groups of equal changes, or all different. */
function changesOf(count: number, areEqual: boolean): ChangeView[] {
  return Array.from({ length: count }, (_, index) => {
    const [group, number] = [Math.floor(index / 60), (index % 60) + 1];
    const text = areEqual ? 'a member' : `number ${index + 1}`;
    return {
      address: `vm.group${group}[${number}]`,
      kind: 'create',
      verb: 'create',
      name: `vm-${index + 1}`,
      node: `pve${group + 1}`,
      vmid: 1000 + index,
      reason: areEqual ? 'It is a clone of debian-13.' : `It is clone ${index + 1} of debian-13.`,
      fields: [
        { path: 'name', before: 'debian-13', after: `vm-${index + 1}`, by: 'file', effect: 'live' },
        { path: 'description', before: null, after: text, by: 'file', effect: 'live' },
      ],
      notes: [],
      destroys: [],
    };
  });
}

/** What the test opens: the plan, or a cluster that holds its VMs. */
function viewOf<Name extends ViewName>(name: Name, plan: PlanView): ViewValues[Name] {
  const nodes = groupedBy(plan.changes, ({ node }) => node);
  const cluster: ClusterView = {
    endpoint: 'https://127.0.0.1:8006',
    version: '9.2.11',
    nodes: [...nodes].map(([node, changes]) => ({
      node,
      isOnline: true,
      cpus: 64,
      memory: { usedBytes: 2e11, totalBytes: 5e11 },
      storages: [{ storage: 'ceph', usedBytes: 1e12, totalBytes: 4e12, isShared: true }],
      guests: changes.map(({ address, name: vm, vmid = 0 }) => ({
        vmid,
        name: vm,
        status: 'running',
        memoryBytes: 2e9,
        usedMemoryBytes: 1e9,
        address,
        isTemplate: false,
      })),
    })),
  };
  return (name === 'plan' ? plan : cluster) as ViewValues[Name]; // only these two are opened
}
