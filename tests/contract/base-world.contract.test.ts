/**
 * What the recorded world is before anything happens in it: every GET that was answered there, asked of the simulator and
 * compared by the comparer of the scenarios. What depends on the recorded host or the time of the recording is listed
 * below, key by key, and compared by kind of value only; everything else must be equal.
 */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { createSimulator, recordedWorld } from '../../src/simulator/index.ts';
import { Binding } from './replay/binding.ts';
import { compareAnswer } from './replay/compare.ts';
import { RECORDED_CREDENTIALS } from './replay/credentials.ts';
import { readContractJson } from './replay/load.ts';
import { type Answer, isList, isObject, type Json, type JsonObject } from './replay/types.ts';

interface Normalised {
  readonly request: RegExp;
  /** Only in objects of this `type`. */
  readonly type?: string;
  readonly keys: readonly string[];
  readonly why: string;
}

const NORMALISED: readonly Normalised[] = [
  {
    request: /^\/(nodes|cluster\/resources)$/,
    type: 'node',
    keys: ['cpu', 'mem', 'disk'],
    why: 'load, memory and root file system of the recorded host at that moment',
  },
  {
    request: /^\/cluster\/resources$/,
    type: 'storage',
    keys: ['disk'],
    why: 'what else lay on the file system of the recorded host',
  },
  {
    request: /^\/nodes\/[^/]+\/status$/,
    keys: ['loadavg', 'cpu', 'uptime', 'available', 'used', 'free', 'avail'],
    why: 'load, memory and root file system of the recorded host at that moment',
  },
  {
    request: /^\/nodes\/[^/]+\/status$/,
    keys: ['current-kernel', 'kversion', 'flags'],
    why: 'the recorded host ran a kernel that was not made for Proxmox, on a processor of its own',
  },
  {
    request: /^\/nodes\/[^/]+\/storage(\/[^/]+\/status)?$/,
    keys: ['used', 'avail', 'used_fraction'],
    why: 'what else lay on the file system of the recorded host',
  },
];

/** The digest of storage.cfg is that of a text whose layout no answer shows; it must still be one and the same. */
const STORAGE_DIGEST = '721176c3aa33c8085c5d7675f3e5390606f8768a';

/** Requests the simulator leaves unanswered, with the reason. */
const UNSIMULATED: Readonly<Record<string, string>> = {};

const base = readContractJson<{ readonly recordedAt: number; readonly answers: Readonly<Record<string, Answer>> }>(
  'base-world.json',
);

describe('the recorded world', () => {
  const clock = new VirtualClock(base.recordedAt * 1000);
  const world = recordedWorld({ now: clock.now() });
  const simulator = createSimulator({ world, clock, random: seededRandom('base-world') });
  const binding = new Binding(() => clock.now(), { exactTime: true });

  async function ask(path: string): Promise<Answer> {
    const request = {
      method: 'GET',
      target: `/api2/json${path}`,
      headers: { authorization: `PVEAPIToken=${RECORDED_CREDENTIALS.tokens.root}` },
    };
    const { status, reason, body } = await clock.run(() => simulator.handle(request));
    return { status, reason, body: JSON.parse(body) as Json };
  }

  it.each(Object.keys(base.answers).filter((path) => !(path in UNSIMULATED)))(
    'answers %s as recorded',
    async (path) => {
      const response = normalised(path, recorded(path));
      expect(compareAnswer({ response }, normalised(path, await ask(path)), binding)).toEqual([]);
    },
  );

  it('leaves out only what is listed, and says so', async () => {
    for (const path of Object.keys(UNSIMULATED)) expect(await ask(path)).toMatchObject({ status: 501 });
    expect(Object.keys(base.answers).length).toBeGreaterThan(60);
  });

  it('is normalised only where it differs', async () => {
    const needless: string[] = [];
    for (const rule of NORMALISED) {
      for (const key of rule.keys) {
        const alone = [{ ...rule, keys: rule.keys.filter((other) => other !== key) }];
        const others = [...NORMALISED.filter((other) => other !== rule), ...alone];
        const paths = Object.keys(base.answers).filter((path) => rule.request.test(path));
        const differs = await anyOf(paths, async (path) => {
          const response = normalised(path, recorded(path), others);
          return compareAnswer({ response }, normalised(path, await ask(path), others), binding).length > 0;
        });
        if (!differs) needless.push(`${rule.request.source} ${key}`);
      }
    }
    expect(needless).toEqual([]);
  });
});

function recorded(path: string): Answer {
  const answer = base.answers[path];
  if (!answer) throw new Error(`nothing was recorded for ${path}`);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a placeholder of the recordings
  return JSON.parse(JSON.stringify(answer).replaceAll(STORAGE_DIGEST, '${digest:storage}')) as Answer;
}

function normalised(path: string, answer: Answer, rules: readonly Normalised[] = NORMALISED): Answer {
  const applied = rules.filter((rule) => rule.request.test(path));
  return applied.length === 0 ? answer : { ...answer, body: byKind(answer.body, applied) };
}

function byKind(value: Json, rules: readonly Normalised[]): Json {
  if (isList(value)) return value.map((element) => byKind(element, rules));
  if (!isObject(value)) return value;
  const isFree = (key: string, owner: JsonObject) =>
    rules.some((rule) => rule.keys.includes(key) && (rule.type === undefined || rule.type === owner.type));
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, isFree(key, value) ? kindOf(inner) : byKind(inner, rules)]),
  );
}

/** Numbers, texts and shapes stay what they are; only which number and which text is free. */
function kindOf(value: Json): Json {
  if (isList(value)) return value.map(kindOf);
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, kindOf(inner)]));
  return typeof value;
}

async function anyOf<T>(items: readonly T[], test: (item: T) => Promise<boolean>): Promise<boolean> {
  for (const item of items) if (await test(item)) return true;
  return false;
}
