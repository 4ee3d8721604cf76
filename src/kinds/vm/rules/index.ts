/** All rules about VMs, each alone or compared with the others. */

import type { ResolvedVm } from '../stack.ts';
import {
  cloudInitNeedsDrive,
  cloudInitSlotIsFree,
  ownDocumentsFitTheGuest,
  ownDocumentsNeedStorage,
  sshKeysArePublic,
} from './cloud-init.ts';
import { cdDriveIsNoDisk, devicesNameOneSource, optionsFitTheBus, removeStandsAlone } from './exclusive.ts';
import {
  groupsAgreeOnTurns,
  haAgreesWithPower,
  linkedCloneStaysPut,
  newDisksAreComplete,
  readinessIsPossible,
} from './lifecycle.ts';
import {
  balloonFitsMemory,
  bootDevicesExist,
  efiNeedsOvmf,
  extraKeysAreFree,
  notesHaveNoOwnershipLine,
  pcieNeedsQ35,
  vcpusFitCores,
} from './machine.ts';
import { mtuCarriesIp, nameServersAreAddresses, newCardsHaveBridge, usableAddresses } from './network.ts';
import {
  clipboardNeedsScreen,
  diskLimitsFit,
  encryptionIsPossible,
  hugepagesNeedNuma,
  machineOptionsFit,
  numaNodesFit,
  rngLimitNeedsSource,
  sharedDirectoriesFit,
  smbiosFits,
  snippetsAreUsed,
} from './platform.ts';
import type { StackRule, Violation, VmRule } from './rule.ts';
import {
  idIsNotTheTemplate,
  sharedAddressIsFree,
  uniqueAddresses,
  uniqueIds,
  uniqueMacs,
  uniqueNames,
} from './unique.ts';

export const VM_RULES: readonly VmRule[] = [
  balloonFitsMemory,
  bootDevicesExist,
  cdDriveIsNoDisk,
  clipboardNeedsScreen,
  cloudInitNeedsDrive,
  cloudInitSlotIsFree,
  devicesNameOneSource,
  diskLimitsFit,
  efiNeedsOvmf,
  encryptionIsPossible,
  extraKeysAreFree,
  haAgreesWithPower,
  hugepagesNeedNuma,
  linkedCloneStaysPut,
  machineOptionsFit,
  mtuCarriesIp,
  nameServersAreAddresses,
  newCardsHaveBridge,
  newDisksAreComplete,
  notesHaveNoOwnershipLine,
  numaNodesFit,
  optionsFitTheBus,
  ownDocumentsFitTheGuest,
  ownDocumentsNeedStorage,
  pcieNeedsQ35,
  readinessIsPossible,
  removeStandsAlone,
  rngLimitNeedsSource,
  sharedDirectoriesFit,
  smbiosFits,
  snippetsAreUsed,
  sshKeysArePublic,
  usableAddresses,
  vcpusFitCores,
];

export const STACK_RULES: readonly StackRule[] = [
  groupsAgreeOnTurns,
  idIsNotTheTemplate,
  sharedAddressIsFree,
  uniqueAddresses,
  uniqueIds,
  uniqueMacs,
  uniqueNames,
];

/** Applies the rules about a single VM, wherever its fields come from. */
export function violationsOf(vm: ResolvedVm): Violation[] {
  return [
    ...VM_RULES.flatMap((rule) => [...rule.check(vm)]),
    ...STACK_RULES.flatMap((rule) => [...rule.check([vm], {})]),
  ];
}
