/** What each step of a VM does, by the name of its action. */
import type { Action } from '../../action.ts';
import type { VmActionName, VmInputs } from '../steps.ts';
import { cloneVm } from './clone.ts';
import { configure } from './configure.ts';
import { createVm } from './create.ts';
import { destroyVm } from './destroy.ts';
import { manageHa } from './ha.ts';
import { migrateVm } from './migrate.ts';
import { restartVm, startVm, stopVm } from './power.ts';
import { resizeDisk } from './resize.ts';
import { removeSeeds, sendSeed } from './seed.ts';
import { verifyVm } from './verify.ts';

export { type OpenVmStep, settleCreation, settleOpenStep } from './settle.ts';

export const ACTIONS: { readonly [Name in VmActionName]: Action<VmInputs[Name]> } = {
  'vm.clone': cloneVm,
  'vm.create': createVm,
  'vm.configure': configure,
  'vm.resize': resizeDisk,
  'vm.verify': verifyVm,
  'vm.start': startVm,
  'vm.stop': stopVm,
  'vm.restart': restartVm,
  'vm.destroy': destroyVm,
  'vm.migrate': migrateVm,
  'vm.ha': manageHa,
  'vm.seed': sendSeed,
  'vm.unseed': removeSeeds,
};
