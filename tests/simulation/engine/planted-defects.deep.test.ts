/**
 * A test of the tests: ten defects that provisioning tools are known for are planted one at a time, and the battery must
 * find each within a thousand seeds. Without them it finds nothing.
 */
import { existsSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isFamily, ProxwrightError } from '../../../src/base/errors.ts';
import type { Transport, WireRequest, WireResponse } from '../../../src/base/transport.ts';
import type { SceneOptions } from './support/scene.ts';

const SEEDS = 1_000;
const CALM_SEEDS = 30;

interface Defect {
  /** What the battery must say: caught for any other reason would be chance. */
  readonly says: RegExp;
  /** Replaces functions of the engine before it is loaded. */
  readonly plant?: () => void;
  readonly options?: SceneOptions;
}

/** The functions of a module, with some of them replaced. A mock of a file that has moved would plant nothing. */
function replacing<Module extends object>(path: string, change: (original: Module) => Partial<Module>): void {
  if (!existsSync(new URL(path, import.meta.url))) throw new Error(`${path} does not exist`);
  vi.doMock(path, async (importOriginal) => {
    const original = await importOriginal<Module>();
    return { ...original, ...change(original) };
  });
}

/** A client that sends something else than it should. */
function sending(change: (request: WireRequest) => WireRequest): SceneOptions {
  return {
    disguise: (transport: Transport) => ({
      ...transport,
      send: (request, options) => transport.send(change(request), options),
    }),
  };
}

/** A client that reads something else than the server sent. */
function hearing(change: (request: WireRequest, response: WireResponse) => WireResponse): SceneOptions {
  return {
    disguise: (transport: Transport) => ({
      ...transport,
      send: async (request, options) => change(request, await transport.send(request, options)),
    }),
  };
}

const inBody = (change: (body: URLSearchParams, request: WireRequest) => void) => (request: WireRequest) => {
  if (typeof request.body !== 'string' || request.body === '') return request;
  const body = new URLSearchParams(request.body);
  change(body, request);
  const text = body.toString();
  return { ...request, body: text, headers: { ...request.headers, 'content-length': String(Buffer.byteLength(text)) } };
};

const ACTIONS = '../../../src/kinds/vm/actions';

const DEFECTS: Readonly<Record<string, Defect>> = {
  'no reading back': {
    says: /status\/start though it was not as desired|passed for compared though/,
    // A write is taken for granted.
    plant: () =>
      replacing<typeof import('../../../src/kinds/vm/actions/configure.ts')>(`${ACTIONS}/configure.ts`, () => ({
        verifyVm: async (context, { desired, applied }) => {
          const { desiredValuesOf } = await import('../../../src/kinds/vm/actions/configure.ts');
          const notes = desiredValuesOf(context, desired).find(({ key }) => key === 'description')?.desired;
          const ownership = notes?.kind === 'notes' ? { ownership: notes.line ?? null } : {};
          await context.learn({ phase: 'complete', lastApplied: { ...applied, ...ownership } });
        },
      })),
  },
  'a blind resend after 596': {
    says: /^VMs are /,
    // The request is sent again with the next id, whatever happened to the first.
    plant: () =>
      replacing<typeof import('../../../src/kinds/vm/actions/safety/occupant.ts')>(
        `${ACTIONS}/safety/occupant.ts`,
        () => ({
          settledOccupant: async () => ({ kind: 'stranger', name: undefined }),
        }),
      ),
  },
  'no look at the uuid': {
    says: /recycled id was not noticed|another client was touched/,
    options: hearing((request, response) => {
      const vmid = /\/qemu\/(\d+)\/pending$/.exec(request.target)?.[1];
      // The VM that has the id is taken for the one it was given to.
      const [seen] = vmid === undefined ? [] : (/uuid=[0-9a-f-]{36}/.exec(response.body) ?? []);
      if (vmid === undefined || seen === undefined) return response;
      const known = uuids.get(vmid) ?? seen;
      uuids.set(vmid, known);
      return { ...response, body: response.body.replaceAll(seen, known) };
    }),
  },
  'a second clone on resume': {
    says: /^VMs are /,
    plant: () =>
      replacing<typeof import('../../../src/kinds/vm/actions/settle.ts')>(`${ACTIONS}/settle.ts`, () => ({
        settleMaking: async (context) => {
          await context.forget();
          return { outcome: 'nothing' };
        },
      })),
  },
  'a resize by a plus': {
    says: /scsi0 has \d+ bytes, expected/,
    options: sending(
      inBody((body, { target }) => {
        if (target.endsWith('/resize')) body.set('size', `+${body.get('size')}`);
      }),
    ),
  },
  'a dropped MAC address': {
    says: /MAC of net\d changed/,
    options: sending(
      inBody((body, { target }) => {
        if (!target.endsWith('/config')) return;
        for (const [key, value] of [...body]) {
          if (/^net\d+$/.test(key)) body.set(key, value.replace(/^(\w+)=[0-9A-F:]{17}/i, '$1'));
        }
      }),
    ),
  },
  'a dropped digest': { says: /without a digest/, options: sending(inBody((body) => body.delete('digest'))) },
  'tags compared in order': {
    says: /CONFIG_CHANGED.*tags/s,
    plant: () =>
      replacing<typeof import('../../../src/pve/wire/config-comparison.ts')>(
        '../../../src/pve/wire/config-comparison.ts',
        ({ compareConfigValue }) => ({
          compareConfigValue: (key, desired, actual) => {
            if (key !== 'tags') return compareConfigValue(key, desired, actual);
            return desired === actual ? 'equal' : 'different';
          },
        }),
      ),
  },
  'warnings taken for failure': {
    says: /did not get through by itself.*TASK_FAILED/s,
    plant: () =>
      replacing<typeof import('../../../src/pve/tasks/task-reports.ts')>(
        '../../../src/pve/tasks/task-reports.ts',
        ({ readExitStatus }) => ({
          readExitStatus: (text) => {
            const end = readExitStatus(text);
            return end.kind === 'warnings' ? { kind: 'failed', text: text ?? '' } : end;
          },
        }),
      ),
  },
  'a lock inside a task that is not retried': {
    says: /did not get through by itself.*lock/s,
    plant: () =>
      replacing<typeof import('../../../src/pve/errors/phrases.ts')>(
        '../../../src/pve/errors/phrases.ts',
        ({ findPhrase }) => ({
          // An answer that names a lock is still understood; the end of a task is not.
          findPhrase: (text) => {
            const phrase = findPhrase(text);
            const isLock =
              phrase !== undefined && isFamily(new ProxwrightError({ code: phrase.code, detail: '' }), 'busy');
            return isLock && /task-errors/.test(new Error('where').stack ?? '') ? undefined : phrase;
          },
        }),
      ),
  },
};

const uuids = new Map<string, string>();

/** The first seed at which the battery says this, or anything at all. */
async function firstComplaint(
  seeds: number,
  says: RegExp,
  options: SceneOptions = {},
): Promise<{ seed: number; said: string } | undefined> {
  const { battery } = await import('./support/battery.ts');
  for (let seed = 1; seed <= seeds; seed++) {
    uuids.clear();
    const complaints = await battery(seed, options).catch((error: unknown) => [String(error)]);
    const said = complaints.find((each) => says.test(each));
    if (said !== undefined) return { seed, said };
  }
  return undefined;
}

afterEach(() => {
  vi.doUnmock(`${ACTIONS}/configure.ts`);
  vi.doUnmock(`${ACTIONS}/safety/occupant.ts`);
  vi.doUnmock(`${ACTIONS}/settle.ts`);
  vi.doUnmock('../../../src/pve/wire/config-comparison.ts');
  vi.doUnmock('../../../src/pve/tasks/task-reports.ts');
  vi.doUnmock('../../../src/pve/errors/phrases.ts');
  vi.resetModules();
});

describe('the battery', () => {
  it('says nothing where nothing is wrong', async () => {
    expect(await firstComplaint(CALM_SEEDS, /^/)).toBeUndefined();
  });

  it.each(Object.entries(DEFECTS))('finds %s', async (name, { plant, says, options }) => {
    vi.resetModules();
    plant?.();
    const found = await firstComplaint(SEEDS, says, options);
    process.stdout.write(`${name}: found at seed ${found?.seed}: ${found?.said.split('\n')[0]}\n`);
    expect(found).toBeDefined();
  });
});
