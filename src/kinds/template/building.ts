/** The steps that build a template, from the start or from where an earlier run stopped. Pure. */

import type { Step } from '../step.ts';
import type { DesiredConfig } from '../vm/config/desired.ts';
import { type PackedEntry, packDesired } from '../vm/config/packed.ts';
import type { VmFields } from '../vm/fields/index.ts';
import { desiredSizes } from '../vm/plan/creation.ts';
import { applied, secretKeys, seedStep } from '../vm/plan/desired-vm.ts';
import { ownDocuments } from '../vm/seed/fields.ts';
import { seedSlot } from '../vm/seed/seed-place.ts';
import type { ResolvedVm } from '../vm/stack.ts';
import { type CloneInput, type CreateInput, vmStep } from '../vm/steps.ts';
import type { TemplateGuest } from './health.ts';
import type { TemplateRecord } from './record.ts';
import type { ResolvedTemplate } from './stack.ts';
import { type RetireInput, templateStep } from './steps.ts';

export interface Building {
  readonly template: ResolvedTemplate;
  /** As it is while it is built: under another name if an earlier version has the final one. */
  readonly vm: ResolvedVm;
  /** Steps that remove or rename the present holder of its name or id. */
  readonly first: readonly Step[];
  /** How it is created; undefined if it exists. */
  readonly making: { readonly clone: CloneInput } | { readonly create: CreateInput } | undefined;
  /** What an earlier run has done. */
  readonly recorded: TemplateRecord | undefined;
  readonly isConverted: boolean;
  /** The desired configuration during the build, after the installation, and in the end. */
  readonly desired: { readonly built: DesiredConfig; readonly finalised: DesiredConfig; readonly final: DesiredConfig };
  readonly retire: RetireInput | undefined;
}

export function stepsOfTemplate(building: Building): Step[] {
  const { template, vm, first, making, recorded, isConverted, desired, retire } = building;
  const { address, fields } = vm;
  const steps: Step[] = [];
  const add = (step: Step) => {
    const last = steps.at(-1);
    steps.push({ ...step, needs: [...step.needs, ...(last ? [last.id] : [])] });
  };
  for (const step of first) add(step);
  if (making) {
    add('clone' in making ? vmStep(address, 'vm.clone', making.clone) : vmStep(address, 'vm.create', making.create));
  }
  if (!isConverted) {
    const seed = seedStep(vm);
    if (recorded?.install === undefined) {
      if (seed) add(seed);
      for (const step of configureSteps(vm, desired.built)) add(step);
    }
    if (template.install) {
      if (recorded?.install !== 'done') add(templateStep(address, 'template.install', template.install));
      for (const step of writeAndVerify(vm, desired.finalised, 'finalise')) add(step);
      if (seed) add(vmStep(address, 'vm.unseed', { all: true }));
    }
    add(templateStep(address, 'template.convert', guestOf(fields)));
  }
  if (retire) add(templateStep(address, 'template.retire', retire));
  for (const step of publishSteps(template.vm, desired.final)) add(step);
  return steps;
}

export function guestOf({ guest, agent }: VmFields): TemplateGuest {
  return { guest, ...(agent?.enabled !== undefined && { agent: agent.enabled }) };
}

function configureSteps(vm: ResolvedVm, desired: DesiredConfig): Step[] {
  const [configure, verify] = writeAndVerify(vm, desired);
  const resizes = desiredSizes(desired).map((size) => vmStep(vm.address, 'vm.resize', size, { part: size.slot }));
  return [configure, ...resizes, verify];
}

function writeAndVerify(vm: ResolvedVm, desired: DesiredConfig, part?: string): [Step, Step] {
  const packed = packDesired(desired.values());
  const secrets = secretKeys(desired.values());
  const options = part === undefined ? {} : { part };
  return [
    vmStep(vm.address, 'vm.configure', { desired: packed, ...(secrets.length > 0 && { secrets }) }, options),
    vmStep(vm.address, 'vm.verify', { desired: packed, applied: applied(vm, desired) }, options),
  ];
}

/** Its name and the line that says it is complete come last, so that only a finished template has the name. */
function publishSteps(vm: ResolvedVm, final: DesiredConfig): Step[] {
  const desired: PackedEntry[] = packDesired([...final.values()].filter(({ key }) => isPublished(key)));
  const part = 'publish';
  return [
    vmStep(vm.address, 'vm.configure', { desired }, { part }),
    vmStep(vm.address, 'vm.verify', { desired, applied: applied(vm, final, 'stopped'), finishes: true }, { part }),
  ];
}

const isPublished = (key: string) => key === 'name' || key === 'description';

/** Its fields after the installation: without the installation medium, also in the boot order. */
export function finalFields(whole: VmFields, base: ReadonlyMap<string, string>): VmFields {
  const fields = withoutCustomFiles(whole);
  const { disks = {}, boot } = fields;
  const media = [
    ...Object.entries(disks).flatMap(([slot, { iso }]) => (typeof iso === 'string' ? [slot] : [])),
    ...(fields === whole ? [] : [seedSlot(whole, base)]),
  ];
  if (media.length === 0) return fields;
  const kept = boot?.filter((device) => !media.includes(device));
  const [firstDisk] = Object.keys(disks).filter((slot) => !media.includes(slot));
  return {
    ...fields,
    disks: { ...disks, ...Object.fromEntries(media.map((slot) => [slot, { remove: true as const }])) },
    boot: kept && kept.length > 0 ? kept : firstDisk === undefined ? boot : [firstDisk],
  };
}

/** Custom cloud-init files served the installation only; their storage holds ISO images, not disks. */
function withoutCustomFiles(fields: VmFields): VmFields {
  if (ownDocuments(fields.cloud_init).length === 0) return fields;
  const { cloud_init: _cloudInit, ...rest } = fields;
  return rest;
}
