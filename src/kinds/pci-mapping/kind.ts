/** PCI mappings allow a token to use a device that the file names by its address. They are created and never deleted. */
import type { Kind, NeedsContext, StepNeeds } from '../kind.ts';
import { NOTHING_PLANNED } from '../kind.ts';
import { fieldFinder } from '../vm/privileges/field-finder.ts';
import { mapPciDevice, pciMapNeeds } from './map-device.ts';
import { isPciMapStep, PCI_MAP } from './mapping.ts';
import { observePci } from './observe.ts';
import { mappingToken, pciMapSteps } from './plan.ts';
import { devicesUsedTwice } from './sharing.ts';

export const pciMappingKind: Kind = {
  prefixes: [],
  words: {
    nouns: {},
    describeStep: (step, users) =>
      isPciMapStep(step)
        ? [
            `create PCI mapping ${step.input.mapping}`,
            ...(users.length > 0
              ? [`${users.join(', ')} names a device by its address, and no mapping exists for it.`]
              : []),
            ...step.input.map,
            'stays when the VMs are deleted',
          ]
        : [],
    countSteps: (count) => `${count === 1 ? 'One PCI mapping' : `${count} PCI mappings`} to create.`,
  },
  actions: { [PCI_MAP]: { label: 'configure', run: mapPciDevice } },
  declared: () => [],
  observe: ({ pve, stack, nodes, signal, relocates }) => observePci({ pve, stack, nodes, signal, relocates }),
  plan: ({ stack, observed, isSelected }) => {
    const selected = stack.vms.filter(({ address }) => isSelected(address));
    const resources = pciMapSteps(selected, observed).map((step) => ({
      steps: [step],
      provides: [mappingToken(step.input.mapping)],
    }));
    return { resources, problems: devicesUsedTwice(stack.vms, selected, observed), warnings: [] };
  },
  planDestroy: () => NOTHING_PLANNED,
  unsettled: () => [],
  needs,
};

function needs({ plan, stack, observed }: NeedsContext): StepNeeds[] {
  return plan.steps.filter(isPciMapStep).map((step) => {
    const user = stack.vms.find((vm) =>
      plan.steps.some((each) => each.address === vm.address && each.needs.includes(step.id)),
    );
    return {
      needs: pciMapNeeds(),
      step: step.action,
      ...fieldFinder(user, step.address, observed),
    };
  });
}
