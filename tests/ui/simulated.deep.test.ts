/** `sim --ui` in a real browser: the command itself, a client of its cluster, and a person with a keyboard. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { OWN_LANGUAGE } from '../../src/base/hint.ts';
import { silentLogger } from '../../src/base/log.ts';
import { runSim, type SimOptions } from '../../src/cli/commands/sim.ts';
import { testDeps } from '../../src/cli/testing/deps.ts';
import { createPve, type Pve, parseEndpoint, parseToken } from '../../src/pve/index.ts';
import { DEFAULT_WORLD } from '../../src/simulator/world/default-world.ts';
import { launch, NO_CHROMIUM, openPage, seriousFindings, shoot, visit } from './chromium.ts';

interface Simulated {
  readonly link: string;
  readonly pve: Pve;
  stop(): Promise<void>;
}

/** The command until it is told to stop, and a client with what it has printed. */
async function simulate(options: Partial<SimOptions> = {}): Promise<Simulated> {
  let stop = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const printed: string[] = [];
  let ended: Promise<unknown> = Promise.resolve();
  const link = await new Promise<string>((resolve, reject) => {
    const log = (_: string, message: string) => {
      const found = /http:\S+/.exec(message)?.[0];
      if (found !== undefined) resolve(found);
    };
    const result = (text: string) => printed.push(text);
    const terminal = {
      ...silentLogger,
      log,
      result,
      data: () => {},
      success: () => {},
      diagnostic: () => {},
      language: OWN_LANGUAGE,
    };
    const stdout = { write: (text: string) => printed.push(text) };
    const { deps } = testDeps({ clock: systemClock, terminal, stdout, stopRequested: () => stopped });
    const given = { listen: '127.0.0.1:0', world: 'default', seed: '1', speed: '50', ui: true, ...options };
    ended = runSim(given, deps);
    ended.catch(reject);
  });
  const variable = (name: string) => new RegExp(`${name}='([^']*)'`).exec(printed.join('\n'))?.[1] ?? '';
  const sha256 = variable('PROXMOX_VE_FINGERPRINT');
  const pve = createPve({
    connection: { endpoint: parseEndpoint(variable('PROXMOX_VE_ENDPOINT')), trust: { kind: 'fingerprint', sha256 } },
    credentials: parseToken(variable('PROXMOX_VE_API_TOKEN')),
  });
  return {
    link,
    pve,
    stop: async () => {
      await pve.close();
      stop();
      await ended;
    },
  };
}

const clone = async ({ pve }: Simulated, newid: number) =>
  pve.tasks.wait(
    await pve
      .node('pve1')
      .vm(9000)
      .clone({ newid, name: `web-${newid}`, full: true }),
  );

describe.skipIf(NO_CHROMIUM !== undefined)(`sim --ui in Chromium${NO_CHROMIUM ? ` (${NO_CHROMIUM})` : ''}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it('switches a fault on, shows the task that it fails with its log, and switches it off, by keyboard alone', async () => {
    const simulated = await simulate();
    const { page, context, complaints } = await openPage(browser, simulated.link);
    await visit(page, 'Faults');
    await page.getByText('this cluster is healthy').waitFor();
    await page.getByRole('textbox', { name: 'Rule' }).focus();
    await page.keyboard.type('task-fail=40:qmclone');
    await page.getByText('a task fails at a percentage of its progress').waitFor();
    await page.keyboard.press('Enter');
    const toggle = page.getByRole('switch', { name: 'Fault task-fail=40:qmclone' });
    await toggle.waitFor();
    await expect(clone(simulated, 701)).rejects.toThrow(/simulated failure/);
    await page.getByRole('row', { name: /task-fail=40:qmclone .*1 ×/ }).waitFor();
    await shoot(page, 'sim-faults');
    await visit(page, 'Tasks');
    await page.getByRole('row', { name: /qmclone 9000 pve1 .*failed.*simulated failure/ }).waitFor();
    await page.getByRole('link', { name: 'qmclone 9000' }).focus();
    await page.keyboard.press('Enter');
    await page
      .getByRole('region', { name: 'Log lines' })
      .getByText(/TASK ERROR: .*simulated failure/)
      .waitFor();
    await shoot(page, 'sim-tasks');
    await visit(page, 'Faults');
    await toggle.focus();
    await page.keyboard.press('Space');
    await page.getByRole('switch', { name: 'Fault task-fail=40:qmclone', checked: false }).waitFor();
    await clone(simulated, 702);
    await visit(page, 'Cluster');
    await page.getByText('web-702').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
    await simulated.stop();
  });

  it('shows locks and locked VMs while they last, and takes a node offline', async () => {
    const simulated = await simulate({ faults: 'stranger-lock=backup:qemu/*/config~60m' });
    const { page, context, complaints } = await openPage(browser, simulated.link);
    await page.getByRole('heading', { name: 'pve2' }).waitFor();
    await page.getByText('No lock is held right now').waitFor();
    await simulated.pve
      .node('pve1')
      .vm(9000)
      .config.put({ tags: 'x' })
      .catch(() => {});
    await page.getByText('locked (backup)').waitFor();
    await page.getByRole('button', { name: 'Take offline: pve2' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Bring online: pve2' }).waitFor();
    await expect(simulated.pve.node('pve2').status()).rejects.toThrow();
    expect(complaints).toEqual([]);
    await context.close();
    await simulated.stop();
  });

  it.each(['light', 'dark'] as const)('has no serious finding of axe in any view with 300 VMs, %s', async (scheme) => {
    const directory = mkdtempSync(join(tmpdir(), 'proxwright-sim-'));
    const file = join(directory, 'world.json');
    const vms = Array.from({ length: 300 }, (_, index) => {
      const config = { name: `worker-${index + 1}`, memory: 2048, cores: 2 };
      return [String(1001 + index), { node: index % 2 === 0 ? 'pve1' : 'pve2', config }];
    });
    writeFileSync(
      file,
      JSON.stringify({ ...DEFAULT_WORLD, vms: { ...DEFAULT_WORLD.vms, ...Object.fromEntries(vms) } }),
    );
    const simulated = await simulate({
      world: file,
      faults: 'refuse=500:GET nothing,task-warn:qmclone@1,cut-after:DELETE',
    });
    await clone(simulated, 701);
    const opened = await openPage(browser, simulated.link, scheme);
    const found: string[] = [];
    for (const view of ['Cluster', 'Tasks', 'Faults']) {
      await visit(opened.page, view);
      await opened.page.locator('main .scroll').first().waitFor();
      await shoot(opened.page, `sim-300-${view}-${scheme}`);
      found.push(...(await seriousFindings(opened)).map((each) => `${view}: ${each}`));
    }
    await visit(opened.page, 'Cluster');
    await opened.page.getByText('worker-300').waitFor();
    expect(found).toEqual([]);
    await opened.context.close();
    await simulated.stop();
    rmSync(directory, { recursive: true });
  });
});
