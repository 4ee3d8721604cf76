/** What the tests of the pages do with a real browser. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';

export { launch, NO_CHROMIUM } from '../../tools/pictures/chromium.ts';

export interface Opened {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What the browser complained about: scripts, the policy of the page, failed requests. */
  readonly complaints: string[];
}

export async function openPage(
  browser: Browser,
  link: string,
  colorScheme: 'light' | 'dark' = 'light',
): Promise<Opened> {
  const context = await browser.newContext({ colorScheme, viewport: { width: 1240, height: 900 } });
  // Only for a page that hangs: a busy machine may take many times as long as an idle one.
  context.setDefaultTimeout(600_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(link);
  return { context, page, complaints };
}

/** Opens a view with the keyboard alone, and waits until it has been read. */
export async function visit(page: Page, view: string): Promise<void> {
  await page.getByRole('link', { name: view, exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: view }).waitFor();
  await page.locator('main [aria-busy=true]').waitFor({ state: 'detached' });
}

/** Keeps a picture for people, where they ask for it: PROXWRIGHT_SHOTS names the directory. */
export async function shoot(page: Page, name: string): Promise<void> {
  const directory = process.env.PROXWRIGHT_SHOTS;
  if (directory !== undefined) await page.screenshot({ path: join(directory, `${name}.png`) });
}

/** Evaluated and not inserted: the policy of the page would refuse it, rightly. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Axe {
  run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
}

/** Of axe, only what hinders people. */
export async function seriousFindings({ page }: Pick<Opened, 'page'>): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: Axe }).axe.run());
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}
