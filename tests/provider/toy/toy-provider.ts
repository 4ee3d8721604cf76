/**
 * A provider without Proxmox, for tests of the host's side: one resource with every kind of value, one data source. What it
 * makes are files in the directory TOY_STORE. A name decides what happens: `crash…`, `slow…`, `bug…`, `noisy…`.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../../src/base/log.ts';
import { type KnownSecrets, Secret } from '../../../src/base/secret.ts';
import { fromJson } from '../../../src/provider/cty/json.ts';
import { parseJson } from '../../../src/provider/cty/json-text.ts';
import { textOfNumber } from '../../../src/provider/cty/number.ts';
import { attribute, index, key } from '../../../src/provider/cty/path.ts';
import {
  type CtyObject,
  type CtyValue,
  Decimal,
  isObject,
  objectOf,
  UNKNOWN,
} from '../../../src/provider/cty/value.ts';
import type { DataSource, Provider, ProviderDiagnostic, ResourceType } from '../../../src/provider/provider.ts';
import { type Attribute, type Attributes, objectType, type Schema } from '../../../src/provider/schema/model.ts';

export const TOY_ADDRESS = 'proxwright.dev/test/toy';

export interface ToyHost {
  readonly log: Logger;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly secrets: KnownSecrets;
}

const optional = (type: Attribute['type']): Attribute => ({ type, given: 'optional', description: 'A value.' });
const inner: Attributes = {
  size: optional({ kind: 'value', type: 'number' }),
  label: optional({ kind: 'value', type: 'string' }),
};

const thingSchema: Schema = {
  version: 1,
  description: 'One of every kind.',
  attributes: {
    id: { type: { kind: 'value', type: 'string' }, given: 'computed', description: 'Made by us.' },
    name: { type: { kind: 'value', type: 'string' }, given: 'required', description: 'Decides what happens.' },
    number: optional({ kind: 'value', type: 'number' }),
    flag: optional({ kind: 'value', type: 'bool' }),
    numbers: optional({ kind: 'value', type: ['list', 'number'] }),
    tags: optional({ kind: 'value', type: ['set', 'string'] }),
    labels: optional({ kind: 'value', type: ['map', 'string'] }),
    single: optional({ kind: 'nested', nesting: 'single', attributes: inner }),
    list: optional({ kind: 'nested', nesting: 'list', attributes: inner }),
    map: optional({ kind: 'nested', nesting: 'map', attributes: inner }),
    secret: { ...optional({ kind: 'value', type: 'string' }), sensitive: true },
    secret_wo: { ...optional({ kind: 'value', type: 'string' }), writeOnly: true },
    fixed: optional({ kind: 'value', type: 'string' }),
  },
};

const echoSchema: Schema = {
  version: 0,
  description: 'Gives back what it is given.',
  attributes: {
    input: { type: { kind: 'value', type: 'string' }, given: 'required', description: 'Given.' },
    output: { type: { kind: 'value', type: 'string' }, given: 'computed', description: 'Given back.' },
    counts: { type: { kind: 'value', type: ['map', 'number'] }, given: 'computed', description: 'By letter.' },
  },
};

export function createToyProvider({ log, environment, secrets }: ToyHost): Provider {
  const stopped = new AbortController();
  const store = new Store(environment.TOY_STORE ?? '.');
  return {
    schema: {
      version: 0,
      description: 'A toy.',
      attributes: { token: { ...optional({ kind: 'value', type: 'string' }), sensitive: true } },
    },
    resources: new Map([['toy_thing', async () => thing(store, log, stopped.signal)]]),
    dataSources: new Map([['toy_echo', async () => echo]]),
    validate: async (config) =>
      config.token === 'wrong' ? [error('Bad token', 'It is wrong.', [attribute('token')])] : [],
    configure: async ({ config, hostVersion }) => {
      if (typeof config.token === 'string') secrets.add(new Secret(config.token));
      log.log('info', 'configured', { hostVersion, token: config.token });
      return [];
    },
    stop: () => stopped.abort(),
  };
}

function thing(store: Store, log: Logger, signal: AbortSignal): ResourceType {
  return {
    schema: thingSchema,
    validate: async (config) => problemsOf(config),
    upgrade: async ({ state }) => ({ state, diagnostics: [] }),
    read: async ({ state, private: kept }) => ({ state: store.read(state.id), private: kept, diagnostics: [] }),
    plan: async ({ prior, proposed, config, private: kept }) => {
      if (proposed === null) return { planned: null, requiresReplace: [], private: kept, diagnostics: [] };
      const planned: CtyObject = { ...proposed, id: prior?.id ?? UNKNOWN, secret_wo: null };
      const isReplaced = prior !== null && prior.fixed !== config?.fixed;
      return { planned, requiresReplace: isReplaced ? [[attribute('fixed')]] : [], private: kept, diagnostics: [] };
    },
    apply: async ({ prior, planned, config }, call) => {
      const name = String((planned ?? prior)?.name);
      if (name.startsWith('noisy')) {
        // biome-ignore lint/suspicious/noConsole: what a careless dependency would do
        console.log('a line that belongs nowhere');
        process.stdout.write('another one\n');
      }
      if (name.startsWith('crash')) setTimeout(() => Promise.reject(new TypeError('the toy fell down')), 0);
      if (name.startsWith('bug')) throw new Error(`broken at ${String(config?.secret)}`);
      if (name.startsWith('crash') || name.startsWith('slow')) {
        writeFileSync(join(store.directory, 'waiting'), String(process.pid));
        const ended = AbortSignal.any([signal, call]);
        await new Promise<void>((resolve) => ended.addEventListener('abort', () => resolve()));
        return { state: prior, private: undefined, diagnostics: [error('Stopped', 'As you asked.')] };
      }
      if (planned === null) {
        store.remove(prior?.id);
        return { state: null, private: undefined, diagnostics: [] };
      }
      const state: CtyObject = { ...planned, id: prior?.id ?? `id-${name}` };
      store.write(state);
      for (const level of ['debug', 'info', 'warn', 'error'] as const) log.log(level, `made at ${level}`, { name });
      return { state, private: Buffer.from('kept'), diagnostics: [] };
    },
    import: async (id) => ({ state: store.read(id), private: undefined, diagnostics: [] }),
  };
}

const echo: DataSource = {
  schema: echoSchema,
  validate: async () => [],
  read: async ({ input }) => ({
    state: {
      input: input ?? null,
      output: input ?? null,
      counts: objectOf([...String(input)].map((letter) => [letter, String(input).split(letter).length - 1])),
    },
    diagnostics: [],
  }),
};

/** At every kind of place a diagnostic can name. */
function problemsOf(config: CtyObject): ProviderDiagnostic[] {
  const { numbers, map, single, tags } = config;
  return [
    ...(config.name === 'bad' ? [error('Bad name', 'Not this one.', [attribute('name')])] : []),
    ...(config.flag === false
      ? [{ ...error('Odd flag', 'Are you sure?', [attribute('flag')]), severity: 'warning' as const }]
      : []),
    ...(Array.isArray(numbers) && numbers[1] === 13
      ? [error('Bad number', 'Unlucky.', [attribute('numbers'), index(1)])]
      : []),
    ...(isObject(map) && isObject(map.b) && map.b.size === 13
      ? [error('Bad size', 'Unlucky.', [attribute('map'), key('b'), attribute('size')])]
      : []),
    ...(isObject(single) && single.size === 13
      ? [error('Bad single', 'Unlucky.', [attribute('single'), attribute('size')])]
      : []),
    ...(Array.isArray(tags) && tags.includes('bad')
      ? [error('Bad tag', 'Unlucky.', [attribute('tags'), index(0)])]
      : []),
  ];
}

function error(summary: string, detail: string, path?: ProviderDiagnostic['path']): ProviderDiagnostic {
  return { severity: 'error', summary, detail, ...(path && { path }) };
}

/** Files that stand for what a real provider makes. */
class Store {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  read(id: CtyValue | undefined): CtyObject | null {
    const file = this.#file(id);
    if (!existsSync(file)) return null;
    const value = fromJson(parseJson(readFileSync(file, 'utf8')), objectType(thingSchema.attributes));
    return isObject(value) ? value : null;
  }

  write(object: CtyObject): void {
    writeFileSync(this.#file(object.id), jsonOf(object));
  }

  remove(id: CtyValue | undefined): void {
    rmSync(this.#file(id), { force: true });
  }

  #file(id: CtyValue | undefined): string {
    return join(this.directory, `${String(id)}.json`);
  }
}

function jsonOf(value: CtyValue): string {
  if (Array.isArray(value)) return `[${value.map(jsonOf).join()}]`;
  if (isObject(value)) {
    return `{${Object.entries(value).map(([name, part]) => `${JSON.stringify(name)}:${jsonOf(part)}`)}}`;
  }
  if (typeof value === 'number' || typeof value === 'bigint' || value instanceof Decimal)
    return textOfNumber(value) ?? '0';
  return JSON.stringify(value);
}
