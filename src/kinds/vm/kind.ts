/** VMs. */

import type { Kind } from '../kind.ts';
import type { VmContext } from './actions/context.ts';
import { VM_ACTIONS } from './actions/index.ts';
import { checkCapacity } from './doctor/capacity.ts';
import { examineMachines } from './doctor/examine.ts';
import { checkNeighbours } from './doctor/neighbours.ts';
import { checkStorages } from './doctor/storage.ts';
import { checkTemplates } from './doctor/template.ts';
import { checkUpgradeOfVms } from './doctor/upgrade.ts';

import { secretPathOf } from './fields/rows.ts';
import { shownFields } from './fields/secrets.ts';
import { observeMachines } from './observe/observe.ts';
import { fingerprintsOfVms } from './observe/observed-vms.ts';
import { evidenceOfVms, machineViews } from './outputs.ts';
import { withKnownNodes } from './placement/place.ts';
import { withGivenAddresses } from './plan/choices/given-addresses.ts';
import { unfinishedMachines } from './plan/machines.ts';
import { withMoves } from './plan/moves.ts';
import { planVms } from './plan/plan.ts';
import { destroyMachines } from './plan/removal.ts';
import { assumedMachines } from './privileges/assumed.ts';
import { needsOfMachines } from './privileges/needs.ts';
import { visibilityOfReference } from './privileges/visibility.ts';
import { planRelocation } from './relocate/plan.ts';
import { planSnapshots } from './snapshot/plan.ts';
import { chosenNodes } from './steps.ts';
import { takeOverVm } from './take-over/import.ts';
import { compareVms, recoverVms } from './take-over/recover.ts';
import { ownershipStep } from './take-over/take-over.ts';

export const vmKind: Kind<VmContext> = {
  prefixes: ['vm', 'kept', 'replaced'],
  words: { nouns: { vm: 'VM', kept: 'holder of kept disks', replaced: 'replaced VM' } },
  actions: VM_ACTIONS,
  declared: ({ vms, zones }) =>
    vms.map((vm) => ({
      address: vm.address,
      fields: shownFields(vm),
      after: vm.after,
      ...(vm.placement && { placement: vm.placement, zones }),
    })),
  observe: observeMachines,
  plan: planVms,
  planRelocation,
  planSnapshots,
  planDestroy: (context) => destroyMachines(context, ['vm', 'replaced']),
  unsettled: ({ vms }) =>
    Object.entries(vms).flatMap(([address, { phase }]) =>
      phase === 'creating' ? [{ address, action: 'vm.create' }] : [],
    ),
  renamed: withMoves,
  given: withGivenAddresses,
  located: withKnownNodes,
  chosenNodes,
  existing: { takeOver: takeOverVm, recover: recoverVms, compare: compareVms },
  releaseStep: (address) => ownershipStep(address, undefined),
  fingerprints: fingerprintsOfVms,
  unfinished: unfinishedMachines,
  examine: examineMachines,
  checks: {
    template: checkTemplates,
    storage: checkStorages,
    capacity: checkCapacity,
    neighbours: checkNeighbours,
  },
  checkUpgrade: checkUpgradeOfVms,
  outputs: machineViews,
  evidence: evidenceOfVms,
  secretPath: secretPathOf,
  needs: needsOfMachines,
  assumed: assumedMachines,
  visibility: visibilityOfReference,
};
