/**
 * Which booting guests are worth asking, and which have shut down. Two cheap signs tell: how long similar guests took
 * to answer, and the list of a node's VMs, which shows which of them run and have sent a packet. One list serves all
 * waits on that node.
 */
import type { Clock, Ticks } from '../base/clock.ts';
import { ProxwrightError } from '../base/errors.ts';
import type { Pve, VmEntry } from '../pve/index.ts';

/** No guest answers sooner after its start. */
const LEAST_BOOT_MS = 5_000;
/**
 * Applied if a guest answered its first question immediately: it may have been up earlier, so the next one is asked
 * earlier.
 */
const EARLIER = 0.95;

interface Boot {
  readonly startedAt: Ticks;
  readonly likeness: string | undefined;
}

interface NodeList {
  readonly at: Ticks;
  readonly vms: Promise<ReadonlyMap<number, VmEntry> | undefined>;
}

export class GuestSigns {
  readonly #pve: Pve;
  readonly #clock: Clock;
  readonly #lists = new Map<string, NodeList>();
  /** By VM id. */
  readonly #boots = new Map<number, Boot>();
  /** The shortest boot of guests that are alike. */
  readonly #bootMs = new Map<string, number>();
  /** The one VM whose silent agent is asked. */
  #early: number | undefined;

  constructor(pve: Pve, clock: Clock) {
    this.#pve = pve;
    this.#clock = clock;
  }

  /** The VM has started. Guests with the same `likeness` should boot equally long. */
  started(vmid: number, likeness: string | undefined): void {
    this.#boots.set(vmid, { startedAt: this.#clock.ticks(), likeness });
  }

  /**
   * When the agent of this VM should answer, and whether another guest has shown that; undefined if this run did not start
   * the VM.
   */
  expectedAnswer(vmid: number): { readonly at: Ticks; readonly isLearned: boolean } | undefined {
    const boot = this.#boots.get(vmid);
    const learnedMs = this.#bootMs.get(boot?.likeness ?? '');
    return boot && { at: boot.startedAt + (learnedMs ?? LEAST_BOOT_MS), isLearned: learnedMs !== undefined };
  }

  /** Its agent has answered; `atOnce` if it may have been up before it was asked. */
  answered(vmid: number, { atOnce }: { readonly atOnce: boolean }): void {
    const { startedAt, likeness } = this.#boots.get(vmid) ?? {};
    this.#boots.delete(vmid);
    if (startedAt === undefined || likeness === undefined) return;
    const tookMs = Math.round((this.#clock.ticks() - startedAt) * (atOnce ? EARLIER : 1));
    this.#bootMs.set(likeness, Math.min(tookMs, this.#bootMs.get(likeness) ?? tookMs));
  }

  /**
   * Whether the agent of this VM may be asked although the guest shows no sign of life. Proxmox holds the question for three
   * seconds and answers as soon as the agent is up, which is both early and cheap, but it occupies a worker: so one VM at a
   * time has this right, until `release`.
   */
  mayAskEarly(vmid: number): boolean {
    this.#early ??= vmid;
    return this.#early === vmid;
  }

  release(vmid: number): void {
    if (this.#early === vmid) this.#early = undefined;
  }

  /** Also false if it cannot be read: then the guest's agent is asked, only later. */
  async hasSent(node: string, vmid: number, maxAgeMs: number): Promise<boolean> {
    return ((await this.#list(node, maxAgeMs))?.get(vmid)?.netout ?? 0) > 0;
  }

  /** Also false if it cannot be read: the caller must not rely on it. */
  async isRunning(node: string, vmid: number, maxAgeMs: number): Promise<boolean> {
    return (await this.#list(node, maxAgeMs))?.get(vmid)?.status === 'running';
  }

  #list(node: string, maxAgeMs: number): NodeList['vms'] {
    const known = this.#lists.get(node);
    const now = this.#clock.ticks();
    const list = known && now - known.at < maxAgeMs ? known : { at: now, vms: this.#read(node) };
    this.#lists.set(node, list);
    return list.vms;
  }

  /** Without a signal: one canceled wait must not cancel the answer for the others. */
  async #read(node: string): Promise<ReadonlyMap<number, VmEntry> | undefined> {
    try {
      return new Map((await this.#pve.node(node).vms.list()).map((vm) => [vm.vmid, vm]));
    } catch (error) {
      if (error instanceof ProxwrightError) return undefined;
      throw error;
    }
  }
}
