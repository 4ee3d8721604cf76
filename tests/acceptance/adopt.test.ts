/** VMs that were made by plain calls of the API become a stack: nothing is written to them, and the plan is empty. */
import { hostname } from 'node:os';
import { describe, expect } from 'vitest';
import { systemRandom } from '../../src/base/random.ts';
import { recordAdopted } from '../../src/cli/commands/adopt/adopt.ts';
import { planAdoption } from '../../src/kinds/vm/adopt/adopt.ts';
import { readGuests } from '../../src/kinds/vm/adopt/survey.ts';
import { loadStack, resolveStack } from '../../src/spec/index.ts';
import { DirectoryStore } from '../../src/state/directory-store.ts';
import { readState } from '../../src/state/state-file.ts';
import { Account } from './account.ts';
import { openEstate } from './engine/estate.ts';
import { plan } from './engine/runs.ts';
import { stepsOf } from './steps.ts';

const account = new Account();
const estate = openEstate(account);
const step = stepsOf(account);
const COUNT = 3;

const ids = () => Array.from({ length: COUNT }, (_, index) => estate.target.ids.first + index);
const vm = (vmid: number) => estate.server.pve.node(estate.target.node).vm(vmid);
const digests = () => Promise.all(ids().map(async (vmid) => (await vm(vmid).config.get()).digest));

describe('VMs that others made', () => {
  step('become a stack with an empty plan', async () => {
    const { server, target, runs, name } = estate;
    const { pve } = server;
    const node = pve.node(target.node);
    for (const [index, vmid] of ids().entries()) {
      await pve.tasks.wait(
        await node.vms.create({
          vmid,
          name: `${name}-${index + 1}`,
          memory: 64,
          cores: 1,
          scsihw: 'virtio-scsi-single',
          scsi0: `${target.disk.storage}:1`,
          net0: `virtio,bridge=${target.bridge}`,
          tags: 'acceptance',
          description: `Made by the acceptance suite ${name}; it may be removed.`,
        }),
      );
    }
    const before = await digests();
    const text = await adopted();
    expect(text).toContain('count: 3');
    expect(await plan(runs, text)).toMatchObject({ ok: true, plan: { steps: [] } });
    expect(await digests()).toEqual(before);
    return `three VMs became a group of ${text.split('\n').length} lines, the plan is empty, nothing was written`;
  });
});

/** What the command does; returns the text of the stack file. */
async function adopted(): Promise<string> {
  const { server, target, runs, name } = estate;
  const { pve, clock } = server;
  const { signal } = new AbortController();
  const store = new DirectoryStore(runs.stateDirectory);
  const resolve = (text: string) => resolveStack(loadStack(text, 'stack.yaml'));
  const { stack } = resolve(`version: 1\nstack: ${name}\n`);
  if (!stack) throw new Error('the empty stack is not one');
  const adoption = await planAdoption({
    pve,
    signal,
    guests: await readGuests(pve, signal),
    choice: { pools: [], tags: [], nodes: [], names: [], ids: [[target.ids.first, target.ids.last]] },
    state: await readState(store, name),
    stack,
    file: 'stack.yaml',
    text: undefined,
    claims: false,
    resolve: async (changed) => resolve(changed),
  });
  if (!('places' in adoption)) throw new Error('nothing was found to adopt');
  const observed = new Map(adoption.survey.taken.map((each) => [each.vmid, each]));
  const vms = adoption.places.flatMap(({ address, vm: { vmid } }) => {
    const real = observed.get(vmid);
    return real ? [{ address, observed: real }] : [];
  });
  const owner = { who: 'acceptance', host: hostname(), pid: process.pid, command: 'adopt' };
  await recordAdopted({
    pve,
    signal,
    store,
    clock,
    random: systemRandom,
    owner,
    stack: adoption.stack,
    vms,
    ha: adoption.ha,
  });
  return adoption.text;
}
