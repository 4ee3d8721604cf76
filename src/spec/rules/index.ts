/** All rules, and how they are run. */
import type { Where } from '../../base/diagnostics.ts';
import type { Findings } from '../findings.ts';
import type { Path } from '../located.ts';
import type { OutputsSpec, ResolvedVm } from '../types.ts';
import type { Candidate } from '../vm.ts';
import { nameServersAreAddresses, usableAddresses } from './addresses.ts';
import { bootDevicesExist } from './boot.ts';
import { cloudInitNeedsDrive, cloudInitSlotIsFree, sshKeysArePublic } from './cloud-init.ts';
import { linkedCloneStaysPut, newDisksAreComplete } from './creation.ts';
import { cdDriveIsNoDisk, devicesNameOneSource, optionsFitTheBus, removeStandsAlone } from './exclusive.ts';
import { extraKeysAreFree } from './extra.ts';
import { efiNeedsOvmf, pcieNeedsQ35 } from './firmware.ts';
import { haAgreesWithPower } from './ha.ts';
import { mtuCarriesIp, newCardsHaveBridge } from './network.ts';
import { readinessIsPossible } from './readiness.ts';
import { positionOf, type StackRule, type Violation, type VmRule } from './rule.ts';
import { balloonFitsMemory, vcpusFitCores } from './sizing.ts';
import {
  idIsNotTheTemplate,
  sharedAddressIsFree,
  uniqueAddresses,
  uniqueIds,
  uniqueMacs,
  uniqueNames,
} from './unique.ts';

const VM_RULES: readonly VmRule[] = [
  balloonFitsMemory,
  bootDevicesExist,
  cdDriveIsNoDisk,
  cloudInitNeedsDrive,
  cloudInitSlotIsFree,
  devicesNameOneSource,
  efiNeedsOvmf,
  extraKeysAreFree,
  haAgreesWithPower,
  linkedCloneStaysPut,
  mtuCarriesIp,
  nameServersAreAddresses,
  newCardsHaveBridge,
  newDisksAreComplete,
  optionsFitTheBus,
  pcieNeedsQ35,
  readinessIsPossible,
  removeStandsAlone,
  sshKeysArePublic,
  usableAddresses,
  vcpusFitCores,
];

const STACK_RULES: readonly StackRule[] = [
  idIsNotTheTemplate,
  sharedAddressIsFree,
  uniqueAddresses,
  uniqueIds,
  uniqueMacs,
  uniqueNames,
];

/** Specimens stand for groups without members: what is said of each VM holds for them, what compares VMs does not. */
export function checkRules(
  real: readonly Candidate[],
  specimens: readonly Candidate[],
  outputs: OutputsSpec,
  findings: Findings,
): void {
  for (const rule of VM_RULES) {
    for (const { vm } of untainted([...real, ...specimens], rule)) report(rule.check(vm), findings);
  }
  for (const rule of STACK_RULES) {
    const vms = untainted(real, rule).map(({ vm }) => vm);
    report(rule.check(vms, outputs), findings);
  }
}

/** What the rules say of a VM on its own, wherever its fields come from. */
export function violationsOf(vm: ResolvedVm): Violation[] {
  return [
    ...VM_RULES.flatMap((rule) => [...rule.check(vm)]),
    ...STACK_RULES.flatMap((rule) => [...rule.check([vm], {})]),
  ];
}

function untainted(candidates: readonly Candidate[], { reads }: VmRule | StackRule): readonly Candidate[] {
  const patterns = reads.map((pattern) => pattern.split('.'));
  return candidates.filter(
    ({ tainted }) => !tainted.some((path) => patterns.some((pattern) => overlap(pattern, path))),
  );
}

/** One lies inside the other. */
function overlap(pattern: readonly string[], path: Path): boolean {
  const length = Math.min(pattern.length, path.length);
  return pattern.slice(0, length).every((part, index) => part === '*' || part === String(path[index]));
}

function report(violations: Iterable<Violation>, findings: Findings): void {
  for (const { vm, path, detail, hint, severity } of violations) {
    const where: Where = positionOf(vm, path);
    findings.add({ code: 'BAD_VALUE', where, detail, hint, ...(severity && { severity }) });
  }
}
