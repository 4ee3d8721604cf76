/** The lock of a state directory between real processes: contests, kills, pauses and PID namespaces. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const STORE = fileURLToPath(new URL('../../src/state/directory-store.ts', import.meta.url));

/**
 * Takes the lock again and again, and logs when it gets it and when it releases it. Some holders die with the lock,
 * some sleep with it.
 */
const CONTENDER = `
import { appendFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { DirectoryStore } from './store.mjs';
const [directory, log, name, rounds, seed, dyingRound] = process.argv.slice(2);
const store = new DirectoryStore(directory);
let state = Number(seed);
const chance = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
for (let round = 0; round < Number(rounds); ) {
  const runId = name + '-' + round;
  const owner = { runId, who: name, host: hostname(), pid: process.pid, since: 'now', command: 'contest' };
  let lock;
  try {
    lock = await store.lock(owner);
  } catch (error) {
    if (error.code !== 'STATE_LOCKED') throw error;
    await pause(chance() * 3);
    continue;
  }
  round++;
  appendFileSync(log, 'take ' + runId + '\\n');
  await pause(chance() * 2);
  if (round === Number(dyingRound)) process.kill(process.pid, 'SIGKILL');
  appendFileSync(log, 'give ' + runId + '\\n');
  await lock.release();
}
`;

/** Of each of the four contenders. */
const LIVES = 5;

const started: ChildProcess[] = [];
let directory: string;
let script: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'proxwright-contest-'));
  const outfile = join(directory, 'store.mjs');
  await build({ entryPoints: [STORE], outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'warning' });
  script = join(directory, 'contender.mjs');
  writeFileSync(script, CONTENDER);
});
afterAll(() => {
  for (const child of started) if (child.exitCode === null) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

function contend(
  state: string,
  log: string,
  name: string,
  rounds: number,
  seed: number,
  dyingRound = 0,
): Promise<NodeJS.Signals | null> {
  const child = spawn(process.execPath, [script, state, log, name, String(rounds), String(seed), String(dyingRound)], {
    stdio: 'inherit',
  });
  started.push(child);
  return new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)));
}

describe('the lock of a state directory', () => {
  it('never has two holders, even if processes die with it or while taking it over', async () => {
    const [state, log] = [join(directory, 'contest'), join(directory, 'contest.log')];
    writeFileSync(log, '');
    const deaths = { count: 0 };
    // A contender that killed itself is replaced.
    await Promise.all(
      [1, 2, 3, 4].map(async (place) => {
        for (let life = 1; life <= LIVES; life++) {
          // Each life but the last ends in the middle of its rounds.
          const dyingRound = life < LIVES ? 1 + ((place + 3 * life) % 9) : 0;
          const signal = await contend(state, log, `p${place}.${life}`, 10, place * 1_000 + life, dyingRound);
          if (signal !== null) deaths.count++;
        }
      }),
    );
    expect(deaths.count).toBe(4 * (LIVES - 1));
    let holder: string | undefined;
    for (const line of readFileSync(log, 'utf8').trim().split('\n')) {
      const [what, runId = ''] = line.split(' ');
      // A holder that died never released the lock, so the next one may take it over.
      if (what === 'give') expect(runId).toBe(holder);
      holder = what === 'take' ? runId : undefined;
    }
  });

  const canUnshare =
    spawnSync('unshare', ['--user', '--map-root-user', '--pid', '--fork', '--mount-proc', 'true']).status === 0;

  it.runIf(canUnshare)('is not taken over from another PID namespace of the same machine', async () => {
    const state = join(directory, 'spaces');
    const holding = `
      import { hostname } from 'node:os';
      import { DirectoryStore } from './store.mjs';
      const owner = { runId: process.argv[3], who: 'one', host: hostname(), pid: process.pid, since: 'now', command: 'apply' };
      await new DirectoryStore(process.argv[2]).lock(owner).then(
        () => { console.log('held'); if (process.argv[4] === 'stay') setInterval(() => {}, 1000); },
        (error) => console.log(error.code, error.diagnostic.detail),
      );`;
    const file = join(directory, 'hold.mjs');
    writeFileSync(file, holding);
    const inside = [
      '--user',
      '--map-root-user',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount-proc',
      process.execPath,
      file,
    ];
    const first = spawn('unshare', [...inside, state, 'first', 'stay']);
    started.push(first);
    await new Promise((resolve) => first.stdout.once('data', resolve));
    for (const [command, args] of [
      ['unshare', [...inside, state, 'second']],
      [process.execPath, [file, state, 'third']],
    ] as const) {
      const { stdout } = spawnSync(command, args, { encoding: 'utf8' });
      expect(stdout).toContain('STATE_LOCKED');
      expect(stdout).toContain('PID namespace');
    }
    first.kill('SIGKILL');
  });
});
