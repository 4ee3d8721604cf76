/** A small program on the client that continues after every failure, and one that cleans up after it. */

import { Secret } from '../../../src/base/secret.ts';
import type { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { isNotFound, isOutcomeUnknown, type Pve, type Upid } from '../../../src/pve/index.ts';
import { AGENT_TEMPLATE } from './client-scene.ts';

export const GUEST_PASSWORD = new Secret('correct-horse-battery-staple');

export interface Journal {
  /** What each step ended with, by its name. */
  readonly rejections: { readonly step: string; readonly thrown: unknown }[];
  /** By type of task: how many the server said it began, and how many are unknown. */
  readonly begun: Map<string, { certain: number; unknown: number }>;
}

export function newJournal(): Journal {
  return { rejections: [], begun: new Map() };
}

/** The life of one VM. Each step is tried once; a failed one is noted, and the next one finds what it finds. */
export async function lifeOfVm(pve: Pve, clock: VirtualClock, journal: Journal): Promise<void> {
  const node = pve.node('pve1');
  const attempt = async <T>(step: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (thrown) {
      journal.rejections.push({ step, thrown });
      return undefined;
    }
  };
  const task = (step: string, type: string, begin: () => Promise<Upid>) =>
    attempt(step, async () => pve.tasks.wait(await counted(journal, type, begin), { timeoutMs: 600_000 }));
  const newid = (await attempt('nextid', () => pve.cluster.nextid())) ?? 300;
  const vm = node.vm(newid);
  await task('clone', 'qmclone', () => node.vm(AGENT_TEMPLATE).clone({ newid, name: `storm-${newid}`, full: true }));
  const config = await attempt('config.get', () => vm.config.get());
  await attempt('config.put', () => vm.config.put({ memory: 640, cipassword: GUEST_PASSWORD, digest: config?.digest }));
  await task('resize', 'resize', () => vm.resize({ disk: 'scsi0', size: '4G' }));
  await task('start', 'qmstart', () => vm.status.start());
  await clock.sleep(50_000);
  await attempt('ping', () => vm.agent.ping());
  await attempt('interfaces', () => vm.agent.networkGetInterfaces());
  await task('stop', 'qmstop', () => vm.status.stop());
  await task('destroy', 'qmdestroy', () => vm.destroy({ purge: true }));
}

async function counted(journal: Journal, type: string, begin: () => Promise<Upid>): Promise<Upid> {
  const count = journal.begun.get(type) ?? { certain: 0, unknown: 0 };
  journal.begun.set(type, count);
  try {
    const upid = await begin();
    count.certain++;
    return upid;
  } catch (thrown) {
    if (isOutcomeUnknown(thrown)) count.unknown++;
    throw thrown;
  }
}

/**
 * Removes our VMs when nothing goes wrong any more. A destroy that was interrupted leaves a nameless rest under a lock of
 * its own, which only root with a password may remove.
 */
export async function cleanUp(pve: Pve, root: Pve): Promise<void> {
  for (const { vmid, name, lock } of await pve.node('pve1').vms.list()) {
    const isRest = lock === 'destroyed';
    if (!isRest && !name?.startsWith('storm-')) continue;
    const client = isRest ? root : pve;
    const vm = client.node('pve1').vm(vmid);
    if ((await vm.status.current()).status === 'running') await client.tasks.wait(await vm.status.stop());
    await client.tasks.wait(
      await vm.destroy({ purge: true, 'destroy-unreferenced-disks': true, ...(isRest && { skiplock: true }) }),
    );
    await vm.config.get().then(
      () => Promise.reject(new Error(`VM ${vmid} is still there after it was destroyed`)),
      (thrown: unknown) => (isNotFound(thrown, 'guest') ? undefined : Promise.reject(thrown)),
    );
  }
}
