/** `proxwright_vms`: the VMs of the cluster, including those whose creation was interrupted. */

import { z } from 'zod';
import { removeRemains } from '../../../../base/text/node-command.ts';
import { type CtyObject, objectOf } from '../../../cty/value.ts';
import { computedList, type DataSourceDefinition } from '../../../data/define.ts';
import { argument, nameRegexArgument, nodeArgument, passes, tagsArgument } from '../../../data/filters.ts';
import { blindTo, type Guest, type Look, readGuests, seesNoVms } from '../../../data/inventory.ts';
import { computed } from '../../../schema/model.ts';
import { type IncompleteVm, incompleteAmong } from '../leftovers.ts';

const table = z.strictObject({
  name_regex: nameRegexArgument,
  node: nodeArgument,
  tags: tagsArgument,
  status: argument(z.enum(['running', 'stopped', 'unknown']).optional(), 'Only VMs with this status.'),
  incomplete: argument(
    z.boolean().optional(),
    '`true`: only VMs that an interrupted creation by this token left. This reads the configuration of each VM.',
  ),
});

export const vms: DataSourceDefinition<typeof table> = {
  description:
    'The VMs that the token can see, sorted by id, without templates. For a VM on an offline node only the id is known: its status is `unknown`, and it may be a template.',
  arguments: table,
  results: {
    vms: computedList(
      {
        vmid: computed('number', 'Its id.'),
        node: computed('string', 'The node it is on.'),
        name: computed('string', 'Its name; null if it is not known.'),
        status: computed('string', '`running`, `stopped` or `unknown`.'),
        tags: computed(['set', 'string'], 'Its tags.'),
        lock: computed('string', 'The lock that it has now; null without a lock.'),
        what_to_do: computed('string', 'With `incomplete = true`: how to complete or remove it.'),
      },
      'The VMs.',
    ),
  },
  read: async ({ node, incomplete, ...filter }, look) => {
    const guests = await readGuests(look, node);
    const found = guests.filter((guest) => !guest.template).filter(passes(filter));
    const warnings = (await seesNoVms(guests, look)) ? [blindTo('VM', 'VM.Audit', '/vms')] : [];
    if (!incomplete) return { values: { vms: found.map((guest) => vmValue(guest)) }, warnings };
    const left = await incompleteByVmid(found, look);
    const values = found.flatMap((guest) => {
      const mark = left.get(guest.vmid);
      return mark ? [vmValue(guest, mark)] : [];
    });
    return { values: { vms: values }, warnings };
  },
};

async function incompleteByVmid(guests: readonly Guest[], { pve, signal }: Look): Promise<Map<number, IncompleteVm>> {
  const readable = guests.filter(({ status }) => status !== 'unknown');
  const listed = readable.map((guest) => ({ ...guest, running: guest.status === 'running' }));
  const found = await incompleteAmong(pve, listed, signal);
  return new Map(found.map((each) => [each.vmid, each]));
}

function vmValue(guest: Guest, mark?: IncompleteVm): CtyObject {
  return objectOf([
    ['vmid', guest.vmid],
    ['node', guest.node],
    ['name', guest.name ?? mark?.name ?? null],
    ['status', guest.status],
    ['tags', [...guest.tags]],
    ['lock', mark?.lock ?? guest.lock ?? null],
    ['what_to_do', mark ? adviceFor(mark) : null],
  ]);
}

function adviceFor({ vmid, node, name, lock }: IncompleteVm): string {
  return [
    ...(lock === undefined ? [] : [`A task still works on it (${lock}): wait until it ends.`]),
    `To complete it, apply a proxwright_vm with name = "${name}" that is not in the state: the creation resumes with this VM.`,
    `If the configuration no longer has such a resource, remove the VM by hand, on ${node}: ${removeRemains(vmid)}`,
  ].join(' ');
}
