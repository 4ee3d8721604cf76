import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { vmAddress } from '../base/address.ts';
import { emptyState, type StackState, vmRecordOf } from '../kinds/recorded.ts';
import { foldEvents } from './events.ts';
import { MemoryStore } from './memory-store.ts';
import { listBackups, parseState, printState, readState, writeState } from './state-file.ts';
import { ADDRESSES, siblings, vmState } from './testing/arbitraries.ts';

/** Counts writes, because "nothing was written" is a guarantee. */
class CountingStore extends MemoryStore {
  writes: string[] = [];

  override async write(name: string, text: string): Promise<void> {
    this.writes.push(name);
    await super.write(name, text);
  }
}

const named = (name: string): StackState['vms'][string] => ({
  vmid: 401,
  node: 'pve1',
  name,
  phase: 'complete',
  lastApplied: {},
  secrets: {},
  macs: {},
  addresses: {},
});

async function written(...names: string[]) {
  const store = new CountingStore();
  let state = await readState(store, 'lab');
  for (const name of names) state = await writeState(store, { ...state, vms: { 'vm.web': named(name) } });
  return { store, state };
}

describe('the state file', () => {
  it('is empty for a stack that was never applied', async () => {
    expect(await readState(new MemoryStore(), 'lab')).toEqual(emptyState('lab'));
  });

  it('returns what was written, with a higher serial', async () => {
    const { store, state } = await written('a', 'b');
    expect(state.serial).toBe(2);
    expect(await readState(store, 'lab')).toEqual(state);
    expect(vmRecordOf(state, vmAddress('web'))?.name).toBe('b');
  });

  it('round-trips every state', () => {
    const states = fc
      .record({ serial: fc.nat(), vms: fc.dictionary(fc.constantFrom(...ADDRESSES), vmState) })
      .map(({ serial, vms }) => ({ ...emptyState('lab'), serial, vms: { ...vms } }));
    fc.assert(
      fc.property(states, (state) => {
        expect(parseState(printState(state), 'state.json')).toEqual(state);
        expect(printState(parseState(printState(state), 'state.json'))).toBe(printState(state));
      }),
    );
  });

  it('is not written if nothing changed, in this run or after reading it again', async () => {
    await fc.assert(
      fc.asyncProperty(siblings, async ({ histories }) => {
        const store = new CountingStore();
        const events = histories.flat();
        const first = await writeState(store, foldEvents(await readState(store, 'lab'), events));
        const writes = store.writes.length;
        expect(await writeState(store, first)).toEqual(first);
        expect(await writeState(store, await readState(store, 'lab'))).toEqual(first);
        expect(await writeState(store, foldEvents(await readState(store, 'lab'), events))).toEqual(first);
        expect(store.writes).toHaveLength(writes);
      }),
    );
  });

  it('rejects a newer version and names both', async () => {
    const store = new MemoryStore();
    await store.write('state.json', JSON.stringify({ version: 3, anything: true }));
    await expect(readState(store, 'lab')).rejects.toMatchObject({
      code: 'STATE_TOO_NEW',
      diagnostic: { detail: 'It has version 3; this Proxwright reads up to version 2.' },
    });
  });

  it('rejects the state of another stack', async () => {
    const { store } = await written('a');
    await expect(readState(store, 'prod')).rejects.toMatchObject({
      code: 'BAD_VALUE',
      diagnostic: { detail: 'This state belongs to the stack "lab", not to "prod".' },
    });
  });

  it.each([
    ['no JSON', '{"version": 1, "sta'],
    ['no object', '7'],
    ['a VM without an id', JSON.stringify({ ...emptyState('lab'), vms: { 'vm.web': { name: 'web' } } })],
    ['an unknown field', JSON.stringify({ ...emptyState('lab'), colour: 'red' })],
  ])('is damaged if it contains %s', async (_name, text) => {
    const store = new MemoryStore();
    await store.write('state.json', text);
    await expect(readState(store, 'lab')).rejects.toMatchObject({
      code: 'STATE_DAMAGED',
      diagnostic: { where: { file: 'state.json' } },
    });
  });
});

describe('the checksum of a state', () => {
  it('detects a changed value, and says how to continue', async () => {
    const { store } = await written('a');
    const text = (await store.read('state.json')) ?? '';
    await store.write('state.json', text.replace('"vmid": 401', '"vmid": 402'));
    await expect(readState(store, 'lab')).rejects.toMatchObject({
      code: 'STATE_DAMAGED',
      diagnostic: {
        detail: expect.stringContaining('its checksum does not match its content'),
        hint: { text: expect.stringMatching(/state restore.*state recover.*delete its "checksum"/) },
      },
    });
  });

  it('does not depend on the layout of the file', async () => {
    const { store, state } = await written('a');
    const { checksum, ...content } = JSON.parse((await store.read('state.json')) ?? '');
    await store.write('state.json', JSON.stringify({ checksum, ...content }));
    expect(await readState(store, 'lab')).toEqual(state);
  });

  it('is missing in states of version 0.1.0, which still load', async () => {
    const store = new MemoryStore();
    await store.write(
      'state.json',
      JSON.stringify({ version: 1, stack: 'lab', serial: 4, vms: { 'vm.web': named('a') } }),
    );
    expect(await readState(store, 'lab')).toMatchObject({ serial: 4, vms: { 'vm.web': { name: 'a' } } });
  });
});

describe('backups', () => {
  it('contain the version before each write, and none before the first', async () => {
    const { store } = await written('a');
    expect(await listBackups(store)).toEqual([]);
    const before = await store.read('state.json');
    await writeState(store, { ...(await readState(store, 'lab')), vms: {} });
    expect(await listBackups(store)).toEqual(['backups/state-00000001.json']);
    expect(await store.read('backups/state-00000001.json')).toBe(before);
  });

  it('are written before the state is', async () => {
    const { store } = await written('a', 'b');
    expect(store.writes).toEqual(['state.json', 'backups/state-00000001.json', 'state.json']);
  });

  it('are limited in number, and the newest are kept', async () => {
    const { store } = await written(...Array.from({ length: 30 }, (_, index) => `web-${index}`));
    const backups = await listBackups(store);
    expect(backups).toHaveLength(20);
    expect(backups.at(0)).toBe('backups/state-00000010.json');
    expect(backups.at(-1)).toBe('backups/state-00000029.json');
  });

  it('survive a restore: the serial continues, and no backup overwrites another', async () => {
    const { store } = await written('a', 'b', 'c');
    const old = parseState((await store.read('backups/state-00000001.json')) ?? '', 'backup');
    const restored = await writeState(store, old);
    expect(restored).toMatchObject({ serial: 4, vms: { 'vm.web': { name: 'a' } } });
    const names = await Promise.all(
      (await listBackups(store)).map(async (file) => parseState((await store.read(file)) ?? '', file)),
    );
    expect(names.map(({ serial, vms }) => `${serial} ${vms['vm.web']?.name}`)).toEqual(['1 a', '2 b', '3 c']);
  });

  it('keep a damaged state too, when a good one replaces it', async () => {
    const { store, state } = await written('a');
    await store.write('state.json', '{"version": 1, "sta');
    await writeState(store, state);
    expect(await store.read('backups/state-00000001.json')).toBe('{"version": 1, "sta');
    expect((await readState(store, 'lab')).vms['vm.web']?.name).toBe('a');
  });

  it('are not overwritten when a damaged state is replaced by one that was rebuilt', async () => {
    const { store } = await written('a', 'b', 'c');
    await store.write('state.json', '{"version": 1, "sta');
    const rebuilt = await writeState(store, { ...emptyState('lab'), vms: { 'vm.web': named('d') } });
    expect(rebuilt.serial).toBe(4);
    expect(await listBackups(store)).toEqual([1, 2, 3].map((serial) => `backups/state-0000000${serial}.json`));
    expect(parseState((await store.read('backups/state-00000001.json')) ?? '', '').vms['vm.web']?.name).toBe('a');
  });
});
