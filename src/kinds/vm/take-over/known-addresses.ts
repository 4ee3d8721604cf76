/**
 * Addresses of VMs that were imported or recovered, not started by an apply. Asks the guest agents of running VMs once, all
 * within a few seconds; otherwise the file or the VM's configuration decides. An address that is still unknown is reported.
 */
import type { Address } from '../../../base/address.ts';
import type { Clock } from '../../../base/clock.ts';
import { throwIfCanceled } from '../../../base/clock.ts';
import { canceled, ProxwrightError } from '../../../base/errors.ts';
import type { GuestInterface, Pve } from '../../../pve/index.ts';
import { fromWireBoolean } from '../../../pve/wire/index.ts';
import { drivesOf } from '../config/disks.ts';
import { macsOf, propertyOf } from '../config/parts.ts';
import type { VmFields } from '../fields/index.ts';
import type { VmObserved } from '../observed.ts';
import { expectedAddresses, type NicIdentity, reportedAddresses } from '../ready/addresses.ts';
import { slotNumber, staticAddresses } from '../ready/checks.ts';

export interface AddressDeps {
  readonly pve: Pve;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

export interface AddressSubject {
  readonly address: Address;
  /** From the file; undefined if the file does not contain the VM. */
  readonly fields: VmFields | undefined;
  readonly observed: VmObserved;
}

export interface KnownAddresses {
  /** NIC slot → addresses, the preferred one first; without NICs that have none. */
  readonly addresses: Record<string, string[]>;
  /** Which NICs of a running VM have no address, and why; undefined if all have one. */
  readonly unknown: string | undefined;
}

/** A working agent answers at once; a silent one would block a worker of the server for longer. */
const ANSWER_MS = 5_000;

export async function knownAddresses(
  deps: AddressDeps,
  subjects: readonly AddressSubject[],
): Promise<Map<Address, KnownAddresses>> {
  const answers = await askAgents(
    deps,
    subjects.filter(({ observed }) => observed.running && hasAgent(observed)),
  );
  return new Map(subjects.map((subject) => [subject.address, knownOf(subject, answers.get(subject.address))]));
}

function knownOf({ fields, observed }: AddressSubject, interfaces: readonly GuestInterface[] | undefined) {
  const nics = nicsOf(fields, observed.current);
  const reported = interfaces ? reportedAddresses(nics, interfaces) : {};
  const expected = expectedAddresses(nics);
  const found = nics.map(({ slot }): [string, string[]] => {
    const fromAgent = reported[slot] ?? [];
    return [slot, [...(fromAgent.length > 0 ? fromAgent : (expected[slot] ?? []))]];
  });
  const missing = found.filter(([, list]) => list.length === 0).map(([slot]) => slot);
  return {
    addresses: Object.fromEntries(found.filter(([, list]) => list.length > 0)),
    // A stopped VM is not expected to have an address.
    unknown:
      missing.length === 0 || !observed.running
        ? undefined
        : `${missing.join(', ')}: ${whyUnknown(observed, interfaces)}`,
  };
}

function nicsOf(fields: VmFields | undefined, current: ReadonlyMap<string, string>): NicIdentity[] {
  return Object.entries(macsOf(current))
    .map(([slot, mac]) => {
      const given = staticAddresses(fields?.nics?.[slot]);
      return { slot, mac, expected: given.length > 0 ? given : configuredAddresses(current, slot) };
    })
    .sort((a, b) => slotNumber(a.slot) - slotNumber(b.slot));
}

/** What cloud-init configures for this NIC, if the VM has a cloud-init drive. */
function configuredAddresses(current: ReadonlyMap<string, string>, slot: string): string[] {
  if (!drivesOf(current).some(({ kind }) => kind === 'cloud-init')) return [];
  const key = `ipconfig${slotNumber(slot)}`;
  const value = propertyOf(key, current.get(key));
  return ['ip', 'ip6'].flatMap((part) => {
    const [, address] = /^([0-9a-f.:]+)\/\d+$/i.exec(value.get(part) ?? '') ?? [];
    return address === undefined ? [] : [address];
  });
}

function hasAgent({ current }: VmObserved): boolean {
  return fromWireBoolean(propertyOf('agent', current.get('agent')).get('enabled') ?? '0') ?? false;
}

function whyUnknown(observed: VmObserved, interfaces: readonly GuestInterface[] | undefined): string {
  if (!hasAgent(observed)) return 'the VM has no guest agent to ask';
  return interfaces ? 'the guest reports none' : `its guest agent did not answer within ${ANSWER_MS / 1000} seconds`;
}

async function askAgents(
  { pve, clock, signal }: AddressDeps,
  subjects: readonly AddressSubject[],
): Promise<Map<Address, readonly GuestInterface[]>> {
  const answers = new Map<Address, readonly GuestInterface[]>();
  if (subjects.length === 0) return answers;
  const [limit, done] = [new AbortController(), new AbortController()];
  const bound = clock.sleep(ANSWER_MS, done.signal).then(
    () => limit.abort(canceled()),
    () => {},
  );
  const within = AbortSignal.any([limit.signal, ...(signal ? [signal] : [])]);
  await Promise.all(
    subjects.map(async ({ address, observed: { node, vmid } }) => {
      try {
        answers.set(address, await pve.node(node).vm(vmid).agent.networkGetInterfaces({ signal: within }));
      } catch (error) {
        throwIfCanceled(signal);
        // Without an answer the address stays unknown.
        if (!(error instanceof ProxwrightError)) throw error;
      }
    }),
  );
  done.abort();
  await bound;
  return answers;
}
