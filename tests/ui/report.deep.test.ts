/** The report in a real browser: a file that loads nothing, in light and dark, by keyboard, with no serious finding of axe. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderReport } from '../../src/ui/report/html.ts';
import { SMALL, sampleRun, TROUBLED } from '../../tools/pictures/sample-runs.ts';
import { launch, NO_CHROMIUM, openPage, seriousFindings } from './chromium.ts';

describe.skipIf(NO_CHROMIUM !== undefined)(`the report in Chromium${NO_CHROMIUM ? ` (${NO_CHROMIUM})` : ''}`, () => {
  let browser: Browser;
  let directory: string;
  let link: string;
  beforeAll(async () => {
    browser = await launch();
    directory = mkdtempSync(join(tmpdir(), 'proxwright-report-'));
    const [run, prediction] = [await sampleRun(TROUBLED), await sampleRun(SMALL)];
    writeFileSync(join(directory, 'report.html'), renderReport({ stack: 'lab', run, prediction }));
    link = pathToFileURL(join(directory, 'report.html')).href;
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it.each([
    ['light', 'rgb(255, 255, 255)'],
    ['dark', 'rgb(18, 22, 28)'],
  ] as const)('is readable in %s, and its policy accepts its own style', async (scheme, paper) => {
    const opened = await openPage(browser, link, scheme);
    const { page, complaints } = opened;
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(paper);
    expect(await page.evaluate(`getComputedStyle(document.querySelector('.pw-paper')).fill`)).toBe(paper);
    expect(await seriousFindings(opened)).toEqual([]);
    expect(complaints).toEqual([]);
    await opened.context.close();
  });

  it('leads the keyboard past the picture to the table that says the same', async () => {
    const { page, context } = await openPage(browser, link);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(page.url()).toMatch(/#steps$/);
    expect(await page.getByRole('row', { name: /vm\.db.*clone/ }).count()).toBeGreaterThan(0);
    await context.close();
  });

  it('lets long tables scroll in themselves, and links to each section', async () => {
    const steps = { ...SMALL, stack: SMALL.stack.replace('count: 2', 'count: 12') };
    const file = join(directory, 'long.html');
    writeFileSync(file, renderReport({ stack: 'lab', run: await sampleRun(steps) }));
    const { page, context } = await openPage(browser, pathToFileURL(file).href);
    const table = page.locator('.long').last();
    const { inner, outer } = await table.evaluate(({ scrollHeight, clientHeight }) => ({
      inner: scrollHeight,
      outer: clientHeight,
    }));
    expect(inner).toBeGreaterThan(outer);
    await page.getByRole('navigation').getByRole('link', { name: 'Critical path' }).click();
    expect(page.url()).toMatch(/#critical$/);
    await context.close();
  });
});
