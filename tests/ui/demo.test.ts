/** `demo --ui`: the demo waits for the page, runs, and keeps serving the page. */
import { get } from 'node:http';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { OWN_LANGUAGE } from '../../src/base/hint.ts';
import { silentLogger } from '../../src/base/log.ts';
import { runDemo } from '../../src/cli/commands/demo/demo.ts';
import { testDeps } from '../../src/cli/testing/deps.ts';

interface Got {
  readonly text: string;
  readonly cookie: string;
}

function fetched(link: string, cookie = ''): Promise<Got> {
  return new Promise((resolve, reject) => {
    get(link, { headers: { cookie } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      const set = response.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
      response.on('end', () => resolve({ text: Buffer.concat(chunks).toString(), cookie: set }));
    }).on('error', reject);
  });
}

const MOST_LOOKS = 3_000;

it('starts when the link is opened, shows the run, and ends with Ctrl-C', async () => {
  let stop = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const lines: string[] = [];
  let isListening = (_link: string) => {};
  const listening = new Promise<string>((resolve) => {
    isListening = resolve;
  });
  const terminal = {
    ...silentLogger,
    result: (line: string) => {
      lines.push(line);
      if (line.startsWith('http://')) isListening(line);
    },
    data: () => {},
    success: () => {},
    diagnostic: () => {},
    language: OWN_LANGUAGE,
  };
  const { deps } = testDeps({ clock: systemClock, terminal, stopRequested: () => stopped });
  const ended = runDemo({ speed: '100', ui: true }, deps);
  const link = await Promise.race([listening, ended.then((code) => `ended with ${code}`)]);
  expect(lines).toEqual([link]);
  const { cookie } = await fetched(link);
  const { origin } = new URL(link);
  let runs = '';
  for (let looks = 0; looks < MOST_LOOKS && !runs.includes('"outcome":"done"'); looks++) {
    await systemClock.sleep(20);
    runs = (await fetched(`${origin}/api/rancher/runs`, cookie)).text;
  }
  expect(runs).toContain('"outcome":"done"');
  for (const [view, words] of [
    ['cluster', 'rancher-manager-1'],
    ['plan', '"steps":0'],
    ['drift', '"value":[]'],
    ['outputs', 'vms'],
    ['doctor', '"verdict":"good"'],
  ]) {
    const { text } = await fetched(`${origin}/api/rancher/${view}`, cookie);
    expect(text).toContain('"ok":true');
    expect(text).toContain(words);
  }
  stop();
  expect(await ended).toBe(0);
});
