import { describe, expect, it } from 'vitest';
import { describeRun, type RunRecord } from '../../engine/record/run-record.ts';
import type { RunEvent } from '../../state/events.ts';
import { renderReport } from '../report/html.ts';
import { chartOf } from './chart.ts';
import { drawTimeline } from './timeline.ts';

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();

/** Each step: address, action, start, end, and what it failed with. */
type Story = readonly (readonly [string, string, number, number, string?])[];

function runOf(
  story: Story,
  more: readonly RunEvent[] = [],
  after: Readonly<Record<string, string[]>> = {},
): RunRecord {
  const steps = story.map(([address, action]) => ({
    id: `${address}/${action}`,
    address,
    stage: 'create',
    action: `vm.${action}`,
  }));
  const events: RunEvent[] = [
    { event: 'runStarted', at: at(0), format: 2, runId: 'r1', command: 'apply', who: 'operator' },
    {
      event: 'planned',
      at: at(0),
      steps: steps.map((step) => ({ ...step, ...(after[step.address] && { after: after[step.address] }) })),
    },
    ...story.flatMap(([address, action, from, to, failure], index): RunEvent[] => {
      const step = `${address}/${action}`;
      const end: RunEvent =
        failure === undefined
          ? { event: 'stepDone', at: at(to), step, requests: index * 10 + 10 }
          : { event: 'stepFailed', at: at(to), step, code: 'TASK_FAILED', detail: failure };
      return [{ event: 'stepStarted', at: at(from), step, address, action: `vm.${action}`, requests: index * 10 }, end];
    }),
    ...more,
  ];
  events.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const failed = story.some(([, , , , failure]) => failure !== undefined);
  const endedAt = at(Math.max(...story.map(([, , , to]) => to)));
  const ends = [...new Set(story.map(([address]) => address))].map((address): RunEvent => {
    const own = story.filter(([each]) => each === address);
    const outcome = own.some(([, , , , failure]) => failure !== undefined) ? 'failed' : 'done';
    return { event: 'resourceEnded', at: at(Math.max(...own.map(([, , , to]) => to))), address, outcome };
  });
  return describeRun({
    runId: 'r1',
    events: [...events, ...ends, { event: 'runEnded', at: endedAt, outcome: failed ? 'failed' : 'done' }],
  });
}

const TWO: Story = [
  ['vm.db', 'clone', 0, 10],
  ['vm.db', 'ready', 10, 30],
  ['vm.web', 'clone', 30, 35],
  ['vm.web', 'ready', 35, 60],
  ['vm.aside', 'clone', 0, 8],
];

const ROLL: Story = [
  ['vm.db', 'restart', 0, 10],
  ['vm.web[1]', 'restart', 10, 20],
  ['vm.web[2]', 'restart', 40, 50],
];

/** As if the plan took the members of a group down in turn. */
function rolled(run: RunRecord, pauseMs: number): RunRecord {
  const resources = run.resources.map((resource) =>
    resource.address.startsWith('vm.web') ? { ...resource, roll: { group: 'vm.web', pauseMs } } : resource,
  );
  return { ...run, resources };
}

describe('the timeline', () => {
  it('has a row for each resource and a bar for each step and each wait', () => {
    const chart = chartOf(runOf(TWO, [], { 'vm.web': ['vm.db'] }));
    expect(chart.rows.map(({ address }) => address)).toEqual(['vm.db', 'vm.web', 'vm.aside']);
    const web = chart.rows[1]?.bars.map(({ kind, label, fromMs, toMs }) => [kind, label, fromMs / 1000, toMs / 1000]);
    expect(web).toEqual([
      ['make', 'clone', 30, 35],
      ['guest', 'the guest', 35, 60],
      ['turn', 'vm.db', 0, 30],
    ]);
  });

  it('follows the critical path through the awaited resource', () => {
    const { path } = chartOf(runOf(TWO, [], { 'vm.web': ['vm.db'] }));
    expect(path.map(({ address, name, follows }) => `${address} ${name} ${follows}`)).toEqual([
      'vm.db clone start',
      'vm.db ready step',
      'vm.web clone resource',
      'vm.web ready step',
    ]);
  });

  it('infers a turn if the plan named no resource', () => {
    const { path } = chartOf(runOf(TWO));
    expect(path.map(({ follows }) => follows)).toEqual(['start', 'step', 'turn', 'step']);
  });

  it('hatches a wait for a lock and marks the retry, with the message of the server', () => {
    const note: RunEvent = {
      event: 'note',
      at: at(2),
      level: 'warn',
      address: 'vm.db',
      text: 'clone vm.db: busy, trying again in 3.0 s',
      wait: { ms: 3_000, code: 'GUEST_LOCKED', said: 'VM is locked (backup)' },
    };
    const [row] = chartOf(runOf(TWO, [note])).rows;
    expect(row?.bars.find(({ kind }) => kind === 'lock')).toMatchObject({
      label: 'VM is locked (backup)',
      fromMs: 2_000,
      toMs: 5_000,
    });
    expect(row?.marks).toEqual([{ kind: 'retry', atMs: 2_000, words: note.text }]);
  });

  it('shows what hooks printed at their bars, and counts only retries as retries', () => {
    const story: Story = [['vm.db', 'hook', 0, 10]];
    const hook = { address: 'vm.db', group: 'vm.db', moment: 'before_stop', step: 'vm.db/hook' } as const;
    const chart = chartOf(
      runOf(story, [
        { event: 'hook', at: at(9), ...hook, status: 'done', output: 'node drained' },
        { event: 'note', at: at(5), level: 'warn', address: 'vm.db', text: 'start ended with 1 warning(s)' },
      ]),
    );
    const [row] = chart.rows;
    expect(row?.bars[0]?.words).toContain('before_stop done: node drained');
    expect(row?.marks).toEqual([{ kind: 'warning', atMs: 5_000, words: 'start ended with 1 warning(s)' }]);
    const svg = drawTimeline(chart);
    expect(svg).toContain('1 warning.');
    expect(svg).not.toMatch(/>retry<|retries|1 retry/);
  });

  it('names the member and the pause that a member of a roll waited for', () => {
    const chart = chartOf(rolled(runOf(ROLL, [], { 'vm.web[1]': ['vm.db'], 'vm.web[2]': ['vm.db'] }), 20_000));
    const waits = chart.rows.map(({ bars }) =>
      bars
        .filter(({ kind }) => kind === 'turn')
        .map(({ label, fromMs, toMs }) => `${label} ${fromMs / 1000}-${toMs / 1000}`),
    );
    expect(waits).toEqual([[], ['vm.db 0-10'], ['vm.db 0-10', 'vm.web[1] 10-20', 'the pause 20-40']]);
    expect(chart.path.map(({ address, follows }) => `${address} ${follows}`)).toEqual([
      'vm.db start',
      'vm.web[1] resource',
      'vm.web[2] roll',
    ]);
  });

  it('calls what is left of a wait its turn, once the awaited resource has ended', () => {
    const [, web] = chartOf(
      runOf(
        [
          ['vm.db', 'clone', 0, 10],
          ['vm.web', 'clone', 30, 40],
        ],
        [],
        { 'vm.web': ['vm.db'] },
      ),
    ).rows;
    const waits = web?.bars.filter(({ kind }) => kind === 'turn').map(({ label, toMs }) => `${label} ${toMs / 1000}`);
    expect(waits).toEqual(['vm.db 10', 'its turn 30']);
  });

  it('shows the rate between two recorded counts, and none for a journal without them', () => {
    const run = runOf([['vm.db', 'clone', 0, 10]]);
    expect(chartOf(run).requests).toEqual([{ fromMs: 0, toMs: 10_000, perSecond: 1 }]);
    expect(chartOf({ ...run, requests: [] }).requests).toEqual([]);
    expect(renderReport({ stack: 'lab', run: { ...run, requests: [] } })).toContain('does not say how many requests');
  });

  it('draws a step that has not ended up to now', () => {
    const run = describeRun({
      runId: 'r1',
      events: [
        { event: 'runStarted', at: at(0), format: 2, runId: 'r1', command: 'apply', who: 'operator' },
        { event: 'stepStarted', at: at(1), step: 'vm.db/clone', address: 'vm.db', action: 'vm.clone' },
      ],
    });
    const chart = chartOf(run, Date.parse(at(9)));
    expect(chart.rows[0]?.bars[0]).toMatchObject({ fromMs: 1_000, toMs: 9_000, outcome: 'open' });
  });

  it('draws a prediction over the run, and names both durations', () => {
    const run = runOf(TWO);
    const prediction = chartOf(runOf(TWO.map(([address, action, from, to]) => [address, action, from / 2, to / 2])));
    const svg = drawTimeline(chartOf(run), { prediction });
    expect(svg.match(/class="pw-ghost"/g)).toHaveLength(1 + TWO.length);
    expect(svg).toContain('predicted end: 30s');
    expect(renderReport({ stack: 'lab', run, prediction: run })).toContain('Predicted and actual end');
  });

  it('draws 300 resources in rows that do not overlap', () => {
    const story = Array.from(
      { length: 300 },
      (_, index) => [`vm.worker[${index}]`, 'clone', index, index + 2] as const,
    );
    const svg = drawTimeline(chartOf(runOf(story)));
    const rows = [...svg.matchAll(/class="pw-row pw-small" x="12" y="([\d.]+)"/g)].map(([, y]) => Number(y));
    expect(rows).toHaveLength(300);
    expect(rows.every((y, index) => index === 0 || y - (rows[index - 1] ?? 0) >= 12)).toBe(true);
    expect(svg.length).toBeLessThan(400_000);
  });
});

describe('hostile texts', () => {
  const HOSTILE = '</script></style><img src=x onerror=alert(1)>"\' &amp; \u001b[31m\u0000\u202e]]>';

  it.each([
    ['the picture', (run: RunRecord) => drawTimeline(chartOf(run))],
    ['the report', (run: RunRecord) => renderReport({ stack: HOSTILE, run })],
  ])('cannot break out of their place in %s', (_, draw) => {
    const text = draw(runOf([[`vm.${HOSTILE}`, 'clone', 0, 3, HOSTILE]]));
    expect(text).not.toMatch(/<img|<\/script|onerror=alert\(1\)>"/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there
    expect(text).not.toMatch(/[\u0000-\u0008\u001b\u202e]/);
    expect(text).toContain('&lt;/script&gt;');
    expect(text).toContain('\\x1b[31m');
  });

  it('allow the report neither scripts nor external content', () => {
    const text = renderReport({ stack: 'lab', run: runOf(TWO) });
    expect(text).toMatch(/content="default-src 'none'; style-src 'sha256-[\w+/=]+'"/);
    expect(text).not.toMatch(/<script|<link|\bstyle="|src=|url\((?!#)/);
  });
});
