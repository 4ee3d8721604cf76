/** `proxwright_vm`: one VM, whether or not Proxwright created it. */
import { z } from 'zod';
import type { Diagnostic } from '../../../../base/diagnostics.ts';
import { didYouMean } from '../../../../base/text/closest.ts';
import { readVm } from '../../../../kinds/vm/observed.ts';
import { noVisibleVms } from '../../../../kinds/vm/plan/choices/choose-template.ts';
import { type DataSourceDefinition, nameOrId } from '../../../data/define.ts';
import { argument, vmidArgument } from '../../../data/filters.ts';
import { type Guest, type Look, nodesAt, readGuests, seesNoVms } from '../../../data/inventory.ts';
import { elsewhere, fieldOf, isMeant, places, type Query, refused, shownAs } from '../../../data/meant.ts';
import { computed } from '../../../schema/model.ts';
import { MACHINE_RESULTS, machineValues } from './machine.ts';

const table = z.strictObject({
  name: argument(z.string().min(1).optional(), 'Its name. Either `name` or `vmid` is required.'),
  vmid: vmidArgument,
  node: argument(z.string().min(1).optional(), 'The node that it must be on.'),
});

export const vm: DataSourceDefinition<typeof table> = {
  description:
    'One VM, by name or id. Exactly one must match. The results are what the server knows; the guest is not asked.',
  arguments: table,
  filledIn: ['name', 'vmid', 'node'],
  results: {
    status: computed('string', '`running`, `stopped` or `unknown`.'),
    lock: computed('string', 'The lock that it has now: `backup`, `clone`, …; null without a lock.'),
    ...MACHINE_RESULTS,
  },
  check: nameOrId,
  read: async (query, look) => {
    await nodesAt(look, query.node);
    const guests = await readGuests(look);
    const named = guests.filter(isMeant(query));
    const machines = named.filter((guest) => !guest.template);
    const [only, second] = machines.filter(({ node }) => query.node === undefined || node === query.node);
    if (!only) return { problem: await absent(query, { guests, named, machines }, look) };
    if (second) {
      const detail = `Several VMs are called "${query.name}": ${places(machines)}.`;
      return { problem: refused('name', detail, `Select one by its id: vmid = ${only.vmid}`) };
    }
    const observed = await readVm(look.pve, only.node, only.vmid, {
      running: only.status === 'running',
      signal: look.signal,
    });
    return { values: { ...machineValues(observed), status: only.status, lock: observed.lock ?? null } };
  },
};

interface Candidates {
  readonly guests: readonly Guest[];
  readonly named: readonly Guest[];
  readonly machines: readonly Guest[];
}

async function absent(query: Query, { guests, named, machines }: Candidates, look: Look): Promise<Diagnostic> {
  const field = fieldOf(query);
  if (machines.length > 0) return elsewhere(query, machines);
  if (named.length > 0) {
    return refused(
      field,
      `${shownAs(query)} is a template (${places(named)}).`,
      'Read it with data "proxwright_template".',
    );
  }
  if (await seesNoVms(guests, look)) return noVisibleVms(`whether ${shownAs(query)} exists`, { field }).diagnostic;
  const names = guests.filter((guest) => !guest.template).flatMap(({ name = '' }) => (name === '' ? [] : [name]));
  const guess = query.name === undefined ? undefined : didYouMean(query.name, names);
  return refused(
    field,
    `The token cannot see ${query.name === undefined ? `VM ${query.vmid}` : `a VM called "${query.name}"`}.`,
    guess ?? 'Correct it, or give the token VM.Audit on the VM.',
  );
}
