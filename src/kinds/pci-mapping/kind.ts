/** PCI mappings allow a token to use a device that the file names by its address. They are created and never deleted. */
import type { Kind, NeedsContext, StepNeeds } from '../kind.ts';
import { NOTHING_PLANNED } from '../kind.ts';
import type { Observed } from '../observed.ts';
import { machinesOf, type ResolvedStack } from '../stack.ts';
import { mayMigrate } from '../vm/plan/migration.ts';
import { fieldFinder } from '../vm/privileges/field-finder.ts';
import { checkDevices, examineDevices } from './doctor.ts';
import { mapPciDevice, pciMapNeeds } from './map-device.ts';
import { isPciMapStep, PCI_MAP, type PciHardware, pciPath } from './mapping.ts';
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
  observe: ({ pve, stack, state, nodes, signal, relocates }) => {
    const moves = relocates || stack.vms.some((vm) => mayMigrate(vm, state.vms[vm.address]));
    return observePci({ pve, stack, nodes, signal, relocates: moves });
  },
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
  examine: async (context) => ({ devices: await examineDevices(context) }),
  checks: { devices: checkDevices },
  assumed: ({ stack, observed }) => ({ observed: assumedPci(stack, observed?.pciMappings) }),
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

/** Every device that the file names exists, and the token may map it. */
function assumedPci(stack: ResolvedStack, known: Observed['pciMappings'] | undefined): Partial<Observed> {
  const nodes = new Set(machinesOf(stack).map(({ fields }) => fields.node));
  return {
    pciMappings: known ?? { ok: false, needs: 'a server to ask' },
    pciMaking: {
      privileges: new Set(['Mapping.Modify', 'Mapping.Use']),
      devices: new Map([...nodes].map((node) => [node, { ok: true, value: assumedDevices(stack, node) }])),
    },
  };
}

function assumedDevices(stack: ResolvedStack, node: string): PciHardware[] {
  return stack.vms
    .filter(({ fields }) => fields.node === node)
    .flatMap(({ fields }) => Object.values(fields.pci ?? {}))
    .flatMap(({ device }) => (device === undefined ? [] : [pciPath(device)]))
    .map((path) => ({
      path: /\.[0-7]$/.test(path) ? path : `${path}.0`,
      id: '0000:0000',
      subsystemId: undefined,
      iommuGroup: 0,
      mdev: false,
      name: '',
    }));
}
