/** A real browser: Debian's Chromium, driven by playwright-core. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PATHS = [
  process.env.PROXWRIGHT_CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const executablePath = PATHS.find((path) => path !== undefined && existsSync(path));

/** Why there is none; undefined if there is one. */
export const NO_CHROMIUM = executablePath === undefined ? 'Chromium is not installed' : undefined;

export function launch(): Promise<Browser> {
  // The sandbox needs privileges that a container does not have. Only our own pages are opened.
  return chromium.launch({ ...(executablePath && { executablePath }), args: ['--no-sandbox', '--disable-gpu'] });
}
