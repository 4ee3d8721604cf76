/** Builds the pages of `ui` and `sim --ui` from their sources into one text: scripts and style, bundled and minified. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build, transform } from 'esbuild';
import { timelineStyle } from '../../src/ui/picture/style.ts';
import { ROOT } from '../bundle/bundle.ts';

const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Proxwright</title>
<link rel="stylesheet" href="/app.css">
<link rel="icon" type="image/svg+xml" href="/icon.svg">
<script type="module" src="/app.js"></script>
</head>
<body><div id="app"></div></body>
</html>
`;

/** Three rows of a timeline. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect x="1" y="2" width="8" height="3" rx="1" fill="#3b6ea8"/><rect x="5" y="6.5" width="8" height="3" rx="1" fill="#20776b"/><rect x="9" y="11" width="6" height="3" rx="1" fill="#c2410c"/></svg>';

/** The text of `src/ui/page.generated.ts`. */
export async function builtPage(): Promise<string> {
  const sheet = `${await readFile(join(ROOT, 'src/ui/page/page.css'), 'utf8')}${timelineStyle()}`;
  const { code } = await transform(sheet, { loader: 'css', minify: true });
  const page = { html: HTML, icon: ICON, style: code, script: await script('src/ui/page/main.tsx') };
  const lines = Object.entries(page).map(([name, text]) => `  ${name}: ${JSON.stringify(text)},`);
  const simulated = JSON.stringify(await script('src/ui/page/sim/main.tsx'));
  return [
    '/** Generated from src/ui/page by `npm run page`. Do not edit. */',
    '/** The page of `ui`. */',
    `export const PAGE = {\n${lines.join('\n')}\n};`,
    '/** The page of `sim --ui`. */',
    `export const SIMULATED_PAGE = {\n  ...PAGE,\n  script: ${simulated},\n};`,
    '',
  ].join('\n');
}

async function script(entry: string): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'warning',
  });
  return outputFiles[0]?.text ?? '';
}
