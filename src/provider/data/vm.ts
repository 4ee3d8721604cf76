/** `proxwright_vm`: one VM, whoever made it. */
import { z } from 'zod';
import { didYouMean } from '../../base/closest.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { readVm } from '../../kinds/vm/observed.ts';
import { blindness } from '../../kinds/vm/plan/choose-template.ts';
import { computed, type DataSourceDefinition, nameOrId } from './define.ts';
import { argument, vmidArgument } from './filters.ts';
import { type Guest, type Look, nodesAt, readGuests, seesNoVms } from './inventory.ts';
import { MACHINE_RESULTS, machineValues } from './machine.ts';
import { elsewhere, fieldOf, isMeant, places, refused, shownAs, type Wanted } from './meant.ts';

const table = z.strictObject({
  name: argument(z.string().min(1).optional(), 'Its name; one of `name` and `vmid` is needed.'),
  vmid: vmidArgument,
  node: argument(z.string().min(1).optional(), 'The node it must be on.'),
});

export const vm: DataSourceDefinition<typeof table> = {
  description:
    'One VM, by name or id: exactly one must match. Told is what the server knows; the guest itself is not asked.',
  arguments: table,
  filledIn: ['name', 'vmid', 'node'],
  results: {
    status: computed('string', '`running`, `stopped` or `unknown`.'),
    lock: computed('string', 'What holds it just now: `backup`, `clone`, …; null where nothing does.'),
    ...MACHINE_RESULTS,
  },
  check: nameOrId,
  read: async (wanted, look) => {
    await nodesAt(look, wanted.node);
    const guests = await readGuests(look);
    const named = guests.filter(isMeant(wanted));
    const machines = named.filter((guest) => !guest.template);
    const [only, second] = machines.filter(({ node }) => wanted.node === undefined || node === wanted.node);
    if (!only) return { problem: await absent(wanted, { guests, named, machines }, look) };
    if (second) {
      const detail = `Several VMs are called "${wanted.name}": ${places(machines)}.`;
      return { problem: refused('name', detail, `Say which one is meant: vmid = ${only.vmid}`) };
    }
    const observed = await readVm(look.pve, only.node, only.vmid, {
      running: only.status === 'running',
      signal: look.signal,
    });
    return { values: { ...machineValues(observed), status: only.status, lock: observed.lock ?? null } };
  },
};

interface Seen {
  readonly guests: readonly Guest[];
  readonly named: readonly Guest[];
  readonly machines: readonly Guest[];
}

async function absent(wanted: Wanted, { guests, named, machines }: Seen, look: Look): Promise<Diagnostic> {
  const field = fieldOf(wanted);
  if (machines.length > 0) return elsewhere(wanted, machines);
  if (named.length > 0) {
    return refused(
      field,
      `${shownAs(wanted)} is a template (${places(named)}).`,
      'Read it with data "proxwright_template".',
    );
  }
  if (await seesNoVms(guests, look)) return blindness(`whether ${shownAs(wanted)} exists`, { field }).diagnostic;
  const names = guests.filter((guest) => !guest.template).flatMap(({ name = '' }) => (name === '' ? [] : [name]));
  const guess = wanted.name === undefined ? undefined : didYouMean(wanted.name, names);
  return refused(
    field,
    `The token sees no ${wanted.name === undefined ? `VM ${wanted.vmid}` : `VM called "${wanted.name}"`}.`,
    guess ?? 'Correct it, or give the token VM.Audit on the VM.',
  );
}
