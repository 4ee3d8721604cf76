/**
 * The engine on three small VMs, from the first plan to the last free id: made, changed, changed by others, taken away and
 * recycled, broken off by kill -9, destroyed. The steps follow from each other: after the first failure the rest is skipped,
 * and whatever was made is removed.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Change, Plan } from '../../src/kinds/change.ts';
import { propertyOf } from '../../src/kinds/vm/config/parts.ts';
import { findOwnership } from '../../src/kinds/vm/ownership.ts';
import { type PendingEntry, parseSize } from '../../src/pve/index.ts';
import { DirectoryStore } from '../../src/state/directory-store.ts';
import { readState } from '../../src/state/state-file.ts';
import { Account } from './account.ts';
import { killedApply } from './engine/killed-apply.ts';
import { leftovers, ownIds, removeLeftovers } from './engine/leftovers.ts';
import { apply, destroy, plan, type Runs } from './engine/runs.ts';
import { type StackOptions, stackText } from './engine/stack.ts';
import { findTarget, type Target } from './engine/target.ts';
import { type AcceptanceServer, openServer } from './server.ts';
import { stepsOf } from './steps.ts';

const GIB = 1024 ** 3;
const FIRST: StackOptions = { count: 3, memory: '128MiB', tags: ['acceptance'], moreGib: 1 };
const SECOND: StackOptions = { ...FIRST, memory: '192MiB', tags: ['acceptance', 'changed'], moreGib: 2 };
const THIRD: StackOptions = { ...SECOND, count: 5 };

const account = new Account();
const name = `acceptance-${randomBytes(4).toString('hex')}`;
const directory = mkdtempSync(join(tmpdir(), 'proxwright-acceptance-'));
const stateDirectory = join(directory, 'state');
let server: AcceptanceServer;
let target: Target;
let runs: Runs;

beforeAll(async () => {
  server = await openServer();
  target = await findTarget(server.pve, process.env);
  runs = { pve: server.pve, clock: server.clock, stateDirectory };
  const { node, template, mode, ids, power } = target;
  account.checked(
    `engine: template ${template} on ${node}, ${mode} clones with ids ${ids.first}–${ids.last}, ${power}, stack ${name}`,
  );
});

afterAll(async () => {
  try {
    if (target) for (const line of await removeLeftovers(server.pve, target, name)) account.checked(line);
  } finally {
    rmSync(directory, { recursive: true, force: true });
    account.print();
    await server?.close();
  }
});

const text = (options: StackOptions) => stackText(name, target, options);

const step = stepsOf(account);

async function planned(options: StackOptions): Promise<Plan> {
  const result = await plan(runs, text(options));
  if (!result.ok) throw new Error(result.problems.map(({ detail }) => detail).join('\n'));
  return result.plan;
}

/** No step and no difference; a note that something waits for a restart is allowed on a VM that runs. */
async function expectNoChanges(options: StackOptions): Promise<void> {
  const { changes, steps: left } = await planned(options);
  expect(changes.flatMap(differencesOf)).toEqual([]);
  expect(left.map(({ id }) => id)).toEqual([]);
}

function differencesOf({ address, differences }: Change): string[] {
  return differences.map(({ path, before, after, by }) => `${address} ${path} ${before} → ${after} by ${by}`);
}

/** By number within the group. */
async function vmids(): Promise<number[]> {
  const { vms } = await readState(new DirectoryStore(stateDirectory), name);
  return Object.keys(vms)
    .sort()
    .flatMap((address) => vms[address]?.vmid ?? []);
}

/** What will hold after the next start. */
function desiredValue(entries: readonly PendingEntry[], key: string): string | undefined {
  const entry = entries.find((each) => each.key === key);
  return entry?.pending ?? entry?.value;
}

/** Asks the server itself, not the engine. */
async function expectConfigured({ memory, tags, moreGib, count }: StackOptions): Promise<void> {
  const { slot, sizeBytes } = target.disk;
  const ids = await vmids();
  expect(ids).toHaveLength(count);
  for (const [index, vmid] of ids.entries()) {
    const vm = server.pve.node(target.node).vm(vmid);
    const entries = await vm.pending();
    const value = (key: string) => desiredValue(entries, key) ?? '';
    expect(value('name')).toBe(`${name}-${index + 1}`);
    expect(value('memory')).toBe(String(Number.parseInt(memory, 10)));
    expect(new Set(value('tags').split(';'))).toEqual(new Set(tags));
    expect(value('ipconfig0')).toContain(`ip=192.0.2.${11 + index}/24`);
    expect(value('ipconfig0')).toContain('gw=192.0.2.1');
    expect(decodeURIComponent(value('sshkeys'))).toContain('ssh-ed25519');
    expect(value('ciuser')).toBe('acceptance');
    expect(propertyOf('net0', value('net0')).get('bridge')).toBe(target.bridge);
    expect(parseSize(propertyOf(slot, value(slot)).get('size') ?? '')).toBe(sizeBytes + moreGib * GIB);
    expect(findOwnership(value('description'))).toMatchObject({ stack: name, vmid });
    expect((await vm.status.current()).status).toBe(target.power);
  }
}

describe('the engine with VMs of its own', () => {
  step('plans three new VMs and makes nothing', async () => {
    const { changes } = await planned(FIRST);
    expect(changes.map(({ kind }) => kind)).toEqual(['create', 'create', 'create']);
    expect(await leftovers(server.pve, target)).toEqual([]);
    return 'a plan for three VMs, nothing made by it';
  });

  step('makes them as the stack says', async () => {
    await apply(runs, text(FIRST));
    await expectConfigured(FIRST);
    return 'three VMs cloned, resized and configured';
  });

  step('then has nothing to do', async () => {
    await expectNoChanges(FIRST);
    return 'the second plan is empty';
  });

  step('changes memory, tags and disk in place', async () => {
    const before = await vmids();
    const { changes } = await apply(runs, text(SECOND));
    expect(changes.map(({ kind }) => kind)).toEqual(['update', 'update', 'update']);
    expect(await vmids()).toEqual(before);
    await expectConfigured(SECOND);
    await expectNoChanges(SECOND);
    return 'memory, tags and disk changed in place, and the plan is empty again';
  });

  step('shows what another client changed, and corrects it', async () => {
    const [vmid = 0] = await vmids();
    const vm = server.pve.node(target.node).vm(vmid);
    await vm.config.put({ cores: 2 });
    const drifted = await planned(SECOND);
    expect(drifted.changes.flatMap(differencesOf)).toEqual(['vm.member[1] cpu.cores 2 → 1 by others']);
    await apply(runs, text(SECOND));
    expect(desiredValue(await vm.pending(), 'cores')).toBe('1');
    await expectNoChanges(SECOND);
    return 'a foreign change is shown as exactly that field, by others, and mended';
  });

  step('refuses an id that has become another VM', async () => {
    const [, vmid = 0] = await vmids();
    const { pve } = server;
    const vm = pve.node(target.node).vm(vmid);
    if (target.power === 'running') await pve.tasks.wait(await vm.status.stop());
    await pve.tasks.wait(await vm.destroy({ purge: true, 'destroy-unreferenced-disks': true }));
    const stranger = { vmid, name: 'somebody-else', memory: 64, description: `a stranger of ${name}` };
    await pve.tasks.wait(await pve.node(target.node).vms.create(stranger));
    const digest = (await vm.config.get()).digest;
    const refused = await plan(runs, text(SECOND));
    expect(refused).toMatchObject({ ok: false, problems: [{ code: 'NOT_OURS', where: { address: 'vm.member[2]' } }] });
    await expect(destroy(runs, text(SECOND))).rejects.toThrow(String(vmid));
    expect((await vm.config.get()).digest).toBe(digest);
    await pve.tasks.wait(await vm.destroy({ purge: true }));
    return `the recycled id ${vmid} is refused by plan and destroy, and the stranger was not touched`;
  });

  step('creates a VM again that was deleted outside Proxwright', async () => {
    const { changes } = await apply(runs, text(SECOND));
    expect(changes.map(({ kind }) => kind)).toEqual(['none', 'create', 'none']);
    await expectConfigured(SECOND);
    await expectNoChanges(SECOND);
    return 'a VM that was removed outside is made again, and the plan is empty';
  });

  step('resumes where a killed run stopped', async () => {
    const before = await vmids();
    const killed = await killedApply(text(THIRD), { directory, stateDirectory }, server.environment);
    expect(killed, killed.output).toMatchObject({ signal: 'SIGKILL' });
    expect(killed.journal.some((line) => line.includes('"runEnded"'))).toBe(false);
    await apply(runs, text(THIRD));
    await expectConfigured(THIRD);
    await expectNoChanges(THIRD);
    const after = await vmids();
    expect(after.slice(0, 3)).toEqual(before);
    expect([...after].sort()).toEqual(ownIds(target));
    return `kill -9 after ${killed.journal.length} lines of the journal; the next run finished five VMs, none twice`;
  });

  step('destroys them and leaves nothing', async () => {
    await destroy(runs, text(THIRD));
    expect(await vmids()).toEqual([]);
    expect(await leftovers(server.pve, target)).toEqual([]);
    return 'destroyed: ids are free, no volume is left';
  });
});
