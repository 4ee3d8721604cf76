/** `runs` on a local store: who did what, from where; filters, and what is kept. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KnownSecrets } from '../../../base/secret.ts';
import { VirtualClock } from '../../../base/virtual-clock.ts';
import { DirectoryStore } from '../../../state/directory-store.ts';
import { JOURNAL_FORMAT, type RunSource } from '../../../state/events.ts';
import { JournalWriter } from '../../../state/journal.ts';
import { createTerminal } from '../../terminal.ts';
import { testDeps } from '../../testing/deps.ts';
import { type RunsOptions, runRuns, runRunsShow } from './runs.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'proxwright-runs-'));
  writeFileSync(join(directory, 'stack.yaml'), 'version: 1\nstack: lab\n');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const LAPTOP: RunSource = {
  host: 'laptop',
  commandLine: 'proxwright apply --yes',
  repository: { commit: COMMIT, branch: 'more-memory', dirty: true },
};
const JOB: RunSource = {
  host: 'runner-5',
  commandLine: 'proxwright apply plan.json --yes',
  repository: { commit: COMMIT, branch: 'main', dirty: false },
  ci: { system: 'GitHub Actions', user: 'alice', url: 'https://github.com/acme/lab/actions/runs/77' },
};

interface Past {
  readonly runId: string;
  readonly command?: string;
  readonly who?: string;
  readonly source?: RunSource;
  readonly outcome?: 'done' | 'failed';
}

async function record(...runs: Past[]): Promise<void> {
  const store = new DirectoryStore(join(directory, '.proxwright', 'lab'));
  for (const { runId, command = 'apply', who = 'bob', source, outcome } of runs) {
    const journal = new JournalWriter(store, new VirtualClock(), runId);
    const origin = { command, who, ...(source && { source }) };
    await journal.write({ event: 'runStarted', format: JOURNAL_FORMAT, runId, ...origin });
    if (outcome) await journal.write({ event: 'runEnded', outcome });
  }
}

const FOUR: Past[] = [
  { runId: '20260101T000000Z-aaaaaa', outcome: 'done' },
  { runId: '20260102T000000Z-bbbbbb', source: LAPTOP, outcome: 'failed' },
  { runId: '20260103T000000Z-cccccc', source: JOB, who: 'root', outcome: 'done' },
  { runId: '20260104T000000Z-dddddd', source: LAPTOP, command: 'state mv' },
];

async function shown(show: (deps: Parameters<typeof runRuns>[1]) => Promise<unknown>, json = false) {
  const texts = { out: '', said: '' };
  const stdout = { write: (text: string) => (texts.out += text) };
  const stderr = { write: (text: string) => (texts.said += text) };
  // Five days after the first run.
  const clock = new VirtualClock(Date.parse('2026-01-06T00:00:00Z'));
  const secrets = new KnownSecrets();
  const terminal = createTerminal({ stdout, stderr, clock, secrets, json });
  await show(testDeps({ directory, terminal, stdout, stderr, clock, json, secrets }).deps);
  return texts;
}

const list = async (options: RunsOptions) => {
  const { out } = await shown((deps) => runRuns(options, deps), true);
  return (JSON.parse(out) as { runId: string }[]).map(({ runId }) => runId.slice(-1)).join('');
};

describe('runs', () => {
  it('shows who ran what, from where, at which commit', async () => {
    await record(...FOUR);
    const { out } = await shown((deps) => runRuns({}, deps));
    const [, first, second, third] = out.split('\n');
    expect(first).toMatch(/aaaaaa .*apply +done +0 +0ms +bob *$/);
    expect(second).toMatch(/failed .* bob +laptop +01234567 more-memory, changed *$/);
    expect(third).toMatch(/done .* alice +GitHub Actions +01234567 main *$/);
  });

  it.each<[options: RunsOptions, runs: string]>([
    [{ user: 'alice' }, 'c'],
    [{ user: 'bob' }, 'abd'],
    [{ host: 'laptop' }, 'bd'],
    [{ outcome: 'failed' }, 'b'],
    [{ outcome: 'unfinished' }, 'd'],
    [{ command: 'state' }, 'd'],
    [{ command: 'apply', user: 'bob', host: 'laptop' }, 'b'],
    [{ since: '3d' }, 'cd'],
    [{ since: '73h' }, 'cd'],
    [{ since: '2026-01-04' }, 'd'],
    [{ since: '2026-01-03T01:00:00+01:00' }, 'cd'],
  ])('with %j lists the runs that match', async (options, runs) => {
    await record(...FOUR);
    expect(await list(options)).toBe(runs);
  });

  it('says that none matches, not that there is none', async () => {
    await record(...FOUR);
    expect((await shown((deps) => runRuns({ user: 'eve' }, deps))).said).toContain('None of the 4 runs matches.');
  });

  it.each<RunsOptions>([{ outcome: 'well' }, { since: 'yesterday' }, { since: '2026-13-45' }, { since: '99999d' }])(
    'refuses %j before anything is read',
    async (options) => {
      await expect(shown((deps) => runRuns(options, deps))).rejects.toMatchObject({ code: 'BAD_VALUE' });
    },
  );

  it('shows one with its command line, commit and job', async () => {
    await record(...FOUR);
    const { out } = await shown((deps) => runRunsShow('20260103', {}, deps));
    expect(out).toContain('command  proxwright apply plan.json --yes\n');
    expect(out).toContain(`commit   ${COMMIT} main\n`);
    expect(out).toContain('job      GitHub Actions, alice, https://github.com/acme/lab/actions/runs/77\n');
  });
});
