/** `proxwright_template` and `proxwright_templates`: the templates that VMs are cloned from. */
import { z } from 'zod';
import { advice, setting } from '../../../base/hint.ts';
import { readTemplate } from '../../../kinds/vm/observe/templates.ts';
import { pickTemplate } from '../../../kinds/vm/plan/choices/choose-template.ts';
import { objectOf } from '../../cty/value.ts';
import { computedList, type DataSourceDefinition, nameOrId } from '../../data/define.ts';
import { argument, nameRegexArgument, nodeArgument, passes, tagArgument, vmidArgument } from '../../data/filters.ts';
import { blindTo, nodesAt, readGuests, seesNoVms } from '../../data/inventory.ts';
import { elsewhere, fieldOf, isMeant } from '../../data/meant.ts';
import { computed } from '../../schema/model.ts';
import { MACHINE_RESULTS, machineValues } from '../vm/data/machine.ts';

const one = z.strictObject({
  name: argument(z.string().min(1).optional(), 'Its name. Either `name` or `vmid` is required.'),
  vmid: vmidArgument,
  node: argument(
    z.string().min(1).optional(),
    'The node that it must be on. With local storage, several nodes often have a template of the same name.',
  ),
});

export const template: DataSourceDefinition<typeof one> = {
  description: 'One template, by name or id. Exactly one must match.',
  arguments: one,
  filledIn: ['name', 'vmid', 'node'],
  results: MACHINE_RESULTS,
  check: nameOrId,
  read: async (query, look) => {
    await nodesAt(look, query.node);
    const guests = await readGuests(look);
    const named = guests.filter(isMeant(query));
    const here = named.filter(({ node }) => query.node === undefined || node === query.node);
    if (here.length === 0 && named.length > 0) return { problem: elsewhere(query, named) };
    const choice = pickTemplate({
      reference: query.name ?? query.vmid ?? '',
      candidates: await Promise.all(here.map((guest) => readTemplate(look.pve, guest, look.signal))),
      guests,
      seesNothing: await seesNoVms(guests, look),
      where: { field: fieldOf(query) },
      byId: advice`${setting('vmid', here[0]?.vmid)}; or name its node: ${setting('node', here[0]?.node)}`,
    });
    return choice.ok ? { values: machineValues(choice.vm) } : { problem: choice.problem };
  },
};

const many = z.strictObject({ name_regex: nameRegexArgument, node: nodeArgument, tag: tagArgument });

export const templates: DataSourceDefinition<typeof many> = {
  description: 'The templates that the token can see, sorted by id.',
  arguments: many,
  results: {
    templates: computedList(
      {
        vmid: computed('number', 'Its id.'),
        node: computed('string', 'The node it is on.'),
        name: computed('string', 'Its name.'),
        tags: computed(['set', 'string'], 'Its tags.'),
      },
      'The templates.',
    ),
  },
  read: async ({ name_regex, node, tag }, look) => {
    const guests = await readGuests(look, node);
    const found = guests
      .filter((guest) => guest.template)
      .filter(passes({ name_regex, tags: tag === undefined ? [] : [tag] }));
    return {
      values: {
        templates: found.map((guest) =>
          objectOf([
            ['vmid', guest.vmid],
            ['node', guest.node],
            ['name', guest.name ?? null],
            ['tags', [...guest.tags]],
          ]),
        ),
      },
      warnings: (await seesNoVms(guests, look)) ? [blindTo('VM', 'VM.Audit', '/vms')] : [],
    };
  },
};
