/** What Proxmox cannot change in a VM that stands: only a new VM can have it otherwise. */
import { type AttributePath, attribute } from '../cty/path.ts';
import { type CtyObject, type CtyValue, isObject, UNKNOWN } from '../cty/value.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import { equalValues } from '../values/equal.ts';

export interface Replacement {
  readonly path: AttributePath;
  readonly reason: string;
}

interface Rule {
  readonly path: readonly string[];
  readonly reason: string;
}

const RULES: readonly Rule[] = [
  { path: ['vmid'], reason: 'Proxmox cannot give a VM another id' },
  { path: ['clone', 'template'], reason: 'a VM stays a copy of the template it was cloned from' },
  { path: ['clone', 'mode'], reason: 'a full clone cannot become a linked one, nor the other way round' },
];

/** What was never said before — of a VM that was taken over — is no change. */
export function replacements(planned: CtyObject, prior: CtyObject): Replacement[] {
  return RULES.flatMap(({ path, reason }) => {
    const before: CtyValue = valueAt(prior, path);
    const after: CtyValue = valueAt(planned, path);
    const isChange = before !== null && after !== null && !equalValues(before, after);
    return isChange ? [{ path: path.map(attribute), reason: sentence(path, before, after, reason) }] : [];
  });
}

/** `inPlace`: the successor has the name and the id of the VM. */
export function replacementWarning({ path, reason }: Replacement, inPlace: boolean): ProviderDiagnostic {
  const order = inPlace
    ? ' In that order: with create_before_destroy the new VM needs another name, or a vmid of its own.'
    : '';
  return {
    severity: 'warning',
    summary: 'This VM will be replaced',
    detail: `${reason}. The VM and its disks are destroyed, and a new VM is made.${order}`,
    path: path.slice(0, 1),
  };
}

function valueAt(object: CtyObject, path: readonly string[]): CtyValue {
  return path.reduce<CtyValue>(
    (value, name) => (isObject(value) ? (value[name] ?? null) : value === UNKNOWN ? UNKNOWN : null),
    object,
  );
}

function sentence(path: readonly string[], before: CtyValue, after: CtyValue, reason: string): string {
  const shown = (value: CtyValue) => (value === UNKNOWN ? '(known after apply)' : String(value));
  return `${path.join('.')} changes from ${shown(before)} to ${shown(after)}, and ${reason}`;
}
