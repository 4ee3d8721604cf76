/**
 * Every wait that the live view shows has its bound: while a resource is at work and nothing new is reported about it
 * for seconds, the last text about it says how long that lasts at most. The journal has the same bounds, for pages and reports.
 */
import { describe, expect, it } from 'vitest';
import { momentsOf } from '../../../src/engine/record/run-moments.ts';
import { describeRun } from '../../../src/engine/record/run-record.ts';
import type { Activity } from '../../../src/engine/run-memory.ts';
import type { RunEvent } from '../../../src/state/events.ts';
import { readRuns } from '../../../src/state/journal.ts';
import { chartOf } from '../../../src/ui/picture/chart.ts';
import { failuresOf } from './support/invariants.ts';
import { Scene } from './support/scene.ts';

const LONG_MS = 3_000;
const BOUND = /\bup to \d|\bof at most \d/;

const STACK = (memory: string, more = '') => `
version: 1
stack: lab
defaults: { node: pve1, clone: { template: ubuntu-24.04, mode: full }, restart: when_needed }
vms:
  web: { count: 2, name: "web-\${number}", vmids: 411-419, guest: cloud-init, memory: ${memory}${more}, hooks: { before_stop: { run: [drain, "\${name}"] } } }
`;

interface Silence {
  readonly address: string;
  readonly text: string | undefined;
  readonly ms: number;
}

/** For each resource with an open step: how long nothing new was reported about it, and the text that was shown meanwhile. */
class Silences {
  readonly long: Silence[] = [];
  readonly #open = new Map<string, { readonly address: string }>();
  readonly #last = new Map<string, { readonly at: number; readonly text: string | undefined }>();

  follow(event: RunEvent | Activity): void {
    const at = typeof event.at === 'number' ? event.at : Date.parse(event.at);
    const step = 'step' in event ? event.step : undefined;
    const address = 'address' in event ? event.address : this.#open.get(step ?? '')?.address;
    if (address === undefined) return;
    const last = this.#last.get(address);
    const isSame = event.event === 'activity' && last?.text === event.text;
    if (isSame) return;
    if (last && at - last.at >= LONG_MS) this.long.push({ address, text: last.text, ms: at - last.at });
    if (event.event === 'stepStarted') this.#open.set(event.step, { address });
    const isOver = event.event === 'stepDone' || event.event === 'stepFailed' || event.event === 'resourceEnded';
    if (isOver) this.#last.delete(address);
    else this.#last.set(address, { at, text: event.event === 'activity' ? event.text : last?.text });
  }
}

async function runsOf(scene: Scene) {
  return (await readRuns(scene.store)).map(describeRun);
}

describe('the waits of a run', () => {
  it('each show how long they last at most: clones, starts, guests, hooks, shutdowns, deletions', async () => {
    const scene = new Scene();
    const silences = new Silences();
    scene.onEvent = (event) => silences.follow(event);
    for (const text of [STACK('2GiB'), STACK('3GiB'), STACK('3GiB', ', power: stopped')]) {
      expect(failuresOf(await scene.apply(text))).toEqual([]);
      await scene.clock.advance(120_000);
    }
    expect(silences.long.filter(({ text = '' }) => !BOUND.test(text))).toEqual([]);
    const shown = silences.long.map(({ text }) => text?.replace(/ up to .*/, ''));
    expect(shown).toEqual(
      expect.arrayContaining(['clone,', 'before_stop,', 'shutdown,', 'waiting for its guest agent to answer,']),
    );
  });

  it('have their bounds in the journal, so that the page shows them while they last', async () => {
    const scene = new Scene();
    expect(failuresOf(await scene.apply(STACK('2GiB')))).toEqual([]);
    const [run] = await runsOf(scene);
    if (!run) throw new Error('there is no run');
    const waits = momentsOf(run)
      .map(({ what }) => what)
      .filter((what) => what.startsWith('waits for task') || what.startsWith('ready starts'));
    expect(waits.length).toBeGreaterThan(4);
    expect(waits.filter((what) => !BOUND.test(what))).toEqual([]);

    const [journal] = await readRuns(scene.store);
    const upTo = (event: RunEvent['event']) =>
      describeRun({
        runId: 'r',
        events: journal?.events.slice(0, journal.events.findIndex((each) => each.event === event) + 1) ?? [],
      });
    const [cloning] = chartOf(upTo('taskAttached')).rows.flatMap(({ bars }) =>
      bars.filter(({ kind }) => kind === 'make'),
    );
    expect(cloning?.label).toBe('clone, up to 30m 0s');
    expect(cloning?.words).toContain('not ended, up to 30m 0s');
    // Once it has ended, its bound is of no interest.
    const [cloned] = chartOf(run).rows.flatMap(({ bars }) => bars.filter(({ kind }) => kind === 'make'));
    expect(cloned?.label).toBe('clone');
  });
});
