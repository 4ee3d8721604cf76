/**
 * A test of the tests: nine defects that provisioning tools are known for are planted one at a time, and the battery must
 * find each within a thousand seeds. Without them it finds nothing.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Transport, WireRequest, WireResponse } from '../../../src/base/transport.ts';
import type { SceneOptions } from './support/scene.ts';

const SEEDS = 1_000;
const CALM_SEEDS = 30;

interface Defect {
  /** Replaces functions of the engine before it is loaded. */
  readonly plant?: () => void;
  readonly options?: SceneOptions;
}

/** The functions of a module, with some of them replaced. */
function replacing<Module extends object>(path: string, change: (original: Module) => Partial<Module>): void {
  vi.doMock(path, async (importOriginal) => {
    const original = await importOriginal<Module>();
    return { ...original, ...change(original) };
  });
}

/** A client that sends something else than it was told to. */
function sending(change: (request: WireRequest) => WireRequest): SceneOptions {
  return {
    disguise: (transport: Transport) => ({
      ...transport,
      send: (request, options) => transport.send(change(request), options),
    }),
  };
}

/** A client that hears something else than was said. */
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

const ACTIONS = '../../../src/resources/vm/actions';

const DEFECTS: Readonly<Record<string, Defect>> = {
  'a blind resend after 596': {
    // Whatever became of the request, it is sent again with the next id, and nobody looks.
    plant: () =>
      replacing<typeof import('../../../src/resources/vm/actions/occupant.ts')>(`${ACTIONS}/occupant.ts`, () => ({
        settledOccupant: async () => ({ kind: 'stranger', name: undefined }),
      })),
  },
  'no look at the uuid': {
    options: hearing((request, response) => {
      const vmid = /\/qemu\/(\d+)\/pending$/.exec(request.target)?.[1];
      // Whoever has the id is believed to be the one it was given to.
      const [seen] = vmid === undefined ? [] : (/uuid=[0-9a-f-]{36}/.exec(response.body) ?? []);
      if (vmid === undefined || seen === undefined) return response;
      const known = uuids.get(vmid) ?? seen;
      uuids.set(vmid, known);
      return { ...response, body: response.body.replaceAll(seen, known) };
    }),
  },
  'a second clone on resume': {
    plant: () =>
      replacing<typeof import('../../../src/resources/vm/actions/settle.ts')>(`${ACTIONS}/settle.ts`, () => ({
        settleOpenStep: async () => ({ outcome: 'nothing' }),
        settleCreation: async () => ({ outcome: 'nothing' }),
      })),
  },
  'a resize by a plus': {
    options: sending(
      inBody((body, { target }) => {
        if (target.endsWith('/resize')) body.set('size', `+${body.get('size')}`);
      }),
    ),
  },
  'a dropped MAC address': {
    options: sending(
      inBody((body, { target }) => {
        if (!target.endsWith('/config')) return;
        for (const [key, value] of [...body]) {
          if (/^net\d+$/.test(key)) body.set(key, value.replace(/^(\w+)=[0-9A-F:]{17}/i, '$1'));
        }
      }),
    ),
  },
  'a dropped digest': { options: sending(inBody((body) => body.delete('digest'))) },
  'tags compared in order': {
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
    plant: () =>
      replacing<typeof import('../../../src/pve/tasks/exit-status.ts')>(
        '../../../src/pve/tasks/exit-status.ts',
        ({ readExitStatus }) => ({
          readExitStatus: (text) => {
            const end = readExitStatus(text);
            return end.kind === 'warnings' ? { kind: 'failed', text: text ?? '' } : end;
          },
        }),
      ),
  },
  'a lock inside a task that is not retried': {
    plant: () =>
      replacing<typeof import('../../../src/pve/errors/phrases.ts')>(
        '../../../src/pve/errors/phrases.ts',
        ({ findPhrase }) => ({
          // An answer that names a lock is still understood; the end of a task is not.
          findPhrase: (text) => {
            const phrase = findPhrase(text);
            const isLock = phrase?.build({ detail: '' }).constructor.name === 'BusyError';
            return isLock && /task-errors/.test(new Error('where').stack ?? '') ? undefined : phrase;
          },
        }),
      ),
  },
};

const uuids = new Map<string, string>();

/** The first seed at which the battery complains, with what it says. */
async function firstComplaint(
  seeds: number,
  options: SceneOptions = {},
): Promise<{ seed: number; said: string } | undefined> {
  const { battery } = await import('./support/battery.ts');
  for (let seed = 1; seed <= seeds; seed++) {
    uuids.clear();
    const complaints = await battery(seed, options).catch((error: unknown) => [String(error)]);
    if (complaints[0] !== undefined) return { seed, said: complaints[0] };
  }
  return undefined;
}

afterEach(() => {
  vi.doUnmock(`${ACTIONS}/settle.ts`);
  vi.doUnmock(`${ACTIONS}/occupant.ts`);
  vi.doUnmock('../../../src/pve/wire/config-comparison.ts');
  vi.doUnmock('../../../src/pve/tasks/exit-status.ts');
  vi.doUnmock('../../../src/pve/errors/phrases.ts');
  vi.resetModules();
});

describe('the battery', () => {
  it('says nothing where nothing is wrong', { timeout: 120_000 }, async () => {
    expect(await firstComplaint(CALM_SEEDS)).toBeUndefined();
  });

  it.each(Object.entries(DEFECTS))('finds %s', { timeout: 300_000 }, async (name, { plant, options }) => {
    vi.resetModules();
    plant?.();
    const found = await firstComplaint(SEEDS, options);
    process.stdout.write(`${name}: found at seed ${found?.seed}: ${found?.said.split('\n')[0]}\n`);
    expect(found).toBeDefined();
  });
});
