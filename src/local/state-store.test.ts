import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { KnownSecrets } from '../base/secret.ts';
import { DirectoryStore } from '../state/directory-store.ts';
import { STATE_FILE } from '../state/state-file.ts';
import { openChosenStore, openStateStore, parseStoreAddress, type StoreDeps } from './state-store.ts';

const directory = mkdtempSync(join(tmpdir(), 'proxwright-store-address-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const deps = (environment: Readonly<Record<string, string>>, secrets = new KnownSecrets()): StoreDeps => ({
  environment,
  directory,
  stackName: 'lab',
  clock: systemClock,
  random: seededRandom('address'),
  secrets,
  local: new DirectoryStore(directory),
});

async function opened(address: string, environment: Readonly<Record<string, string>> = {}) {
  const secrets = new KnownSecrets();
  const store = await openChosenStore(parseStoreAddress(address), deps(environment, secrets));
  return { place: store.placeOf(STATE_FILE), secrets };
}

describe('the address of a store', () => {
  it('names the same place however a prefix is written', async () => {
    const { place } = await opened('s3://bucket/Größe%20a/team');
    expect(place).toBe('s3://bucket/Größe a/team/lab/state.json');
    expect((await opened('s3://bucket/Größe%20a/team/')).place).toBe(place);
    expect((await opened('s3://bucket')).place).toBe('s3://bucket/proxwright/lab/state.json');
  });

  it.each(['s3://bucket/a%2F..%2Fb', 's3://bucket/a//b'])(
    'rejects a prefix that could lead elsewhere: %s',
    async (text) => {
      await expect(opened(text)).rejects.toMatchObject({ code: 'BAD_VALUE' });
    },
  );

  it('shows no password and no token of a query', async () => {
    const web = await opened('https://ci:pass-word@host.example/state?private_token=t0ken-value');
    expect(web.place).toBe('https://host.example/state?…');
    expect(web.secrets.redact('pass-word t0ken-value')).not.toMatch(/pass-word|t0ken/);
    const database = await opened('postgres://ci:pass-word@127.0.0.1/infra');
    expect(database.place).not.toContain('pass-word');
    expect(database.secrets.redact('pass-word')).not.toContain('pass-word');
  });

  it.each([
    ['http://host.example/state', {}],
    ['https://host.example/state', { TF_HTTP_LOCK_ADDRESS: 'http://host.example/lock' }],
    ['https://host.example/state', { TF_HTTP_UNLOCK_ADDRESS: 'http://127.host.example/lock' }],
    ['s3://bucket/x?endpoint=http://127.0.0.1.host.example', {}],
  ])('is encrypted for every request to another machine: %s %j', async (address, environment) => {
    await expect(opened(address, environment)).rejects.toMatchObject({
      code: 'BAD_VALUE',
      diagnostic: { detail: expect.stringContaining('is not encrypted') },
    });
  });

  it('is needed if its variable is set: an empty one is a secret that a job cannot read', async () => {
    await expect(openStateStore(undefined, deps({ PROXWRIGHT_STATE: ' ' }))).rejects.toMatchObject({
      code: 'BAD_VALUE',
      diagnostic: { detail: expect.stringContaining('PROXWRIGHT_STATE is empty') },
    });
    const local = await openStateStore(undefined, deps({ PROXWRIGHT_STATE: 'local' }));
    expect(await openStateStore(undefined, deps({}))).toBeInstanceOf(DirectoryStore);
    expect(await openStateStore({ local: true }, deps({ PROXWRIGHT_STATE: '' }))).toBeInstanceOf(local.constructor);
  });

  it('says how to write a percent sign, without the password that has one', () => {
    const parse = () => parseStoreAddress('postgres://ci:100%@host.example/infra');
    expect(parse).toThrow('Write %25');
    expect(parse).not.toThrow('100%');
  });
});
