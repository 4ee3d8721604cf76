/** High availability, desired and observed: what differs, field by field, and what the state records. Pure. */
import type { HaResource, HaResourceParams } from '../../pve/index.ts';
import type { Difference } from '../change.ts';
import type { ComparedField, Recorded } from './diff/diff.ts';
import type { HaFields } from './fields/ha.ts';

type Managed = Exclude<HaFields, false>;
type Name = keyof Managed;

const NAMES = ['state', 'max_restart', 'max_relocate', 'group', 'comment'] as const satisfies readonly Name[];

/** What Proxmox assumes for a value that a resource does not set. */
const DEFAULTS: Readonly<Partial<Record<Name, unknown>>> = { state: 'started', max_restart: 1, max_relocate: 1 };

export function isHaPath(path: string): boolean {
  return path === 'ha' || path.startsWith('ha.');
}

/** What the state records after an apply: field path → value. */
export function appliedHa(desired: HaFields | undefined): Record<string, unknown> {
  if (desired === undefined) return {};
  if (desired === false) return { ha: false };
  return Object.fromEntries(namesIn(desired).map((name) => [`ha.${name}`, desired[name]]));
}

/** The recorded values that the file still has. */
export function stillAppliedHa(
  desired: HaFields | undefined,
  last: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(appliedHa(desired)).filter(([path, value]) => last[path] === value));
}

export function isHaRecorded(desired: HaFields | undefined, last: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(appliedHa(desired)).every(([path, value]) => last[path] === value);
}

export function diffHa(
  desired: HaFields | undefined,
  observed: HaResource | undefined,
  recorded: Recorded,
): readonly Difference[] {
  return comparedHa(desired, observed)
    .filter(({ equal }) => !equal)
    .map(({ path, key, desired: after, observed: before }) => ({
      path,
      key,
      before,
      after,
      by: whoChanged(recorded?.[path], after, before),
      effect: 'live' as const,
    }));
}

/** Every field of the file with its observed value. */
export function comparedHa(desired: HaFields | undefined, observed: HaResource | undefined): readonly ComparedField[] {
  if (desired === undefined) return [];
  if (desired === false) {
    const before = observed ? { state: observedValue(observed, 'state') } : false;
    return [{ path: 'ha', key: 'ha', desired: false, observed: before, equal: observed === undefined }];
  }
  return namesIn(desired).map((name) => {
    const actual = observed ? observedValue(observed, name) : null;
    return { path: `ha.${name}`, key: 'ha', desired: desired[name], observed: actual, equal: actual === desired[name] };
  });
}

/** A resource in the syntax of a file; `false` if there is none. */
export function writtenHa(observed: HaResource | undefined): Readonly<Record<string, unknown>> | false {
  if (!observed) return false;
  const parts = NAMES.map((name) => [name, observedValue(observed, name)] as const);
  return Object.fromEntries(parts.filter(([, value]) => value !== null));
}

/** The values to send; only those that differ. */
export function haChanges(desired: Managed, observed: HaResource | undefined): HaResourceParams {
  const names = namesIn(desired).filter((name) => !observed || observedValue(observed, name) !== desired[name]);
  return Object.fromEntries(names.map((name) => [name, desired[name]]));
}

function namesIn(desired: Managed): Name[] {
  return NAMES.filter((name) => desired[name] !== undefined);
}

function observedValue(observed: HaResource, name: Name): unknown {
  // `enabled` is the old name of this state.
  if (name === 'state' && observed.state === 'enabled') return 'started';
  return observed[name] ?? DEFAULTS[name] ?? null;
}

function whoChanged(applied: unknown, after: unknown, before: unknown): Difference['by'] {
  if (applied === undefined) return 'file';
  if (applied === after) return 'others';
  return applied === before ? 'file' : 'both';
}
