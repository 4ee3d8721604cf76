/**
 * Values that this server would refuse: fields of a newer release, and options that conflict with other values of the
 * VM or its template. Where the file sets both values, a rule of the stack file reports the conflict instead.
 */
import type { Diagnostic } from '../../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../../base/errors.ts';
import { isSince, type ReleaseNumber } from '../../../../base/values/release.ts';
import { fromWireBoolean, type PropertyValue } from '../../../../pve/wire/index.ts';
import { whereOf } from '../../../fields/positions.ts';
import type { Observed } from '../../../observed.ts';
import type { DesiredConfig, SubKeys } from '../../config/desired.ts';
import { desiredConfig } from '../../config/desired-config.ts';
import { propertyOf } from '../../config/parts.ts';
import { mergedText } from '../../diff/merge.ts';
import { sinceOf, valueSinceOf } from '../../fields/rows.ts';
import type { ResolvedVm } from '../../stack.ts';

/** `base`: values of the template or of the VM itself; undefined when the template is unknown. */
export function refusedValues(
  vm: ResolvedVm,
  base: ReadonlyMap<string, string> | undefined,
  { version }: Observed,
): Diagnostic[] {
  const desired = desiredConfig(vm.fields, {});
  return [...fieldsOfNewerReleases(vm, desired, version.version), ...(base ? misfits(vm, desired, base) : [])];
}

/** Older releases of Proxmox do not have every key, sub-key and value. */
function fieldsOfNewerReleases(vm: ResolvedVm, desired: DesiredConfig, version: string): Diagnostic[] {
  const lacks = (since: ReleaseNumber | undefined) => since !== undefined && !isSince(version, since);
  const fields = [...desired].flatMap(([key, entry]) =>
    entry.fields.map(({ path, value, parts: [part] }) => {
      const [since, valueSince] = [sinceOf(key, part), valueSinceOf(key, part, value)];
      if (lacks(since)) return { path, what: `"${path}"`, since };
      return { path, what: `the value "${value}" of "${path}"`, since: lacks(valueSince) ? valueSince : undefined };
    }),
  );
  return fields.flatMap(({ path, what, since }) => {
    if (since === undefined) return [];
    const detail = `Proxmox VE ${version} does not have ${what}: it came with ${since}.`;
    return [refusal(vm, path, detail, `Remove it, or update Proxmox VE to ${since} or newer.`)];
  });
}

/** An option that conflicts with another value. */
interface Misfit {
  readonly field: string;
  /** Completes "Proxmox would refuse it: …". `set`: the value in the file. */
  readonly because: (merged: PropertyValue, set: SubKeys) => string | undefined;
  /** What Proxmox does instead of refusing it. */
  readonly does?: 'drop';
  readonly hint: string;
}

const MISFITS: Readonly<Record<string, readonly Misfit[]>> = {
  vga: [
    {
      field: 'vga.clipboard',
      because: (vga) => {
        const type = vga.get('type') ?? 'std';
        const isScreen = !/^(none|serial\d)$/.test(type);
        return vga.get('clipboard') === undefined || isScreen ? undefined : `the VM has the graphics card ${type}`;
      },
      hint: 'Set vga.type to std, virtio or qxl, or remove vga.clipboard.',
    },
  ],
  machine: [
    {
      field: 'machine_options.viommu',
      because: (machine) => {
        const type = machine.get('type') ?? 'pc';
        const isFitting = machine.get('viommu') !== 'intel' || type.includes('q35');
        return isFitting ? undefined : `the IOMMU of Intel needs q35, and the VM has the machine type ${type}`;
      },
      hint: 'Set machine to q35, or machine_options.viommu to virtio.',
    },
    {
      field: 'machine_options.address_bits',
      because: (machine) => {
        const bits = machine.get('aw-bits');
        if (bits === undefined || machine.get('viommu') !== 'intel' || bits === '39' || bits === '48') return undefined;
        return `the IOMMU of Intel has 39 or 48 address bits, not ${bits}`;
      },
      hint: 'Set machine_options.address_bits to 39 or 48.',
    },
  ],
  efidisk0: [
    {
      field: 'efi.ms_cert',
      because: (efi, set) => {
        const hasKeys = fromWireBoolean(efi.get('pre-enrolled-keys') ?? '0');
        const isAdded = set['ms-cert']?.startsWith('2023') === true;
        return isAdded && !hasKeys
          ? 'the EFI variables have no secure boot keys to which certificates could be added'
          : undefined;
      },
      does: 'drop',
      hint: 'Remove efi.ms_cert, or set efi.secure_boot to true where the VM has no EFI variables yet.',
    },
  ],
  rng0: [
    {
      field: 'rng_limit',
      because: (rng) => (rng.get('source') === undefined ? 'the VM has no random number generator' : undefined),
      hint: 'Set rng, for example to /dev/urandom.',
    },
  ],
};

function misfits(vm: ResolvedVm, desired: DesiredConfig, base: ReadonlyMap<string, string>): Diagnostic[] {
  return Object.entries(MISFITS).flatMap(([key, checks]) => {
    const entry = desired.get(key);
    if (entry?.desired.kind !== 'property' && entry?.desired.kind !== 'disk') return [];
    const merged = propertyOf(key, mergedText(key, entry.desired, base.get(key)));
    const { set } = entry.desired;
    return checks.flatMap(({ field, because, does = 'refuse', hint }) => {
      const reason = because(merged, set);
      // If the file sets the other value, point to that line.
      const path = entry.fields.find((each) => each.path.startsWith(field))?.path ?? entry.fields[0]?.path ?? field;
      return reason === undefined ? [] : [refusal(vm, path, `Proxmox would ${does} "${field}": ${reason}.`, hint)];
    });
  });
}

function refusal(vm: ResolvedVm, path: string, detail: string, hint: string): Diagnostic {
  return new ProxwrightError({ code: 'BAD_VALUE', where: whereOf(vm, path), detail, hint }).diagnostic;
}
