/** High availability, wanted and found: what differs, field by field, and what is remembered of it. Pure. */
import type { HaResource, HaResourceParams } from '../../pve/index.ts';
import type { ComparedField } from './diff/compared.ts';
import type { Difference, Recorded } from './diff/diff.ts';
import type { HaFields } from './fields/ha.ts';

type Managed = Exclude<HaFields, false>;
type Name = keyof Managed;

const NAMES = ['state', 'max_restart', 'max_relocate', 'group', 'comment'] as const satisfies readonly Name[];

/** What the server assumes where a resource does not say. */
const DEFAULTS: Readonly<Partial<Record<Name, unknown>>> = { state: 'started', max_restart: 1, max_relocate: 1 };

export function isHaPath(path: string): boolean {
  return path === 'ha' || path.startsWith('ha.');
}

/** What the state remembers once it has been brought about: field path → value. */
export function appliedHa(wish: HaFields | undefined): Record<string, unknown> {
  if (wish === undefined) return {};
  if (wish === false) return { ha: false };
  return Object.fromEntries(namesIn(wish).map((name) => [`ha.${name}`, wish[name]]));
}

/** The part of that which was remembered before, and still is what the file says. */
export function stillAppliedHa(
  wish: HaFields | undefined,
  last: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(appliedHa(wish)).filter(([path, value]) => last[path] === value));
}

export function isHaRemembered(wish: HaFields | undefined, last: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(appliedHa(wish)).every(([path, value]) => last[path] === value);
}

export function diffHa(
  wish: HaFields | undefined,
  found: HaResource | undefined,
  lastApplied: Recorded,
): readonly Difference[] {
  return comparedHa(wish, found)
    .filter(({ equal }) => !equal)
    .map(({ path, key, wanted, found: before }) => ({
      path,
      key,
      before,
      after: wanted,
      by: whoChanged(lastApplied?.[path], wanted, before),
      effect: 'live' as const,
    }));
}

/** Every field of the file beside what was found. */
export function comparedHa(wish: HaFields | undefined, found: HaResource | undefined): readonly ComparedField[] {
  if (wish === undefined) return [];
  if (wish === false) {
    const before = found ? { state: foundValue(found, 'state') } : false;
    return [{ path: 'ha', key: 'ha', wanted: false, found: before, equal: found === undefined }];
  }
  return namesIn(wish).map((name) => {
    const actual = found ? foundValue(found, name) : null;
    return { path: `ha.${name}`, key: 'ha', wanted: wish[name], found: actual, equal: actual === wish[name] };
  });
}

/** A resource in the words of a file; `false` where there is none. */
export function writtenHa(found: HaResource | undefined): Readonly<Record<string, unknown>> | false {
  if (!found) return false;
  const parts = NAMES.map((name) => [name, foundValue(found, name)] as const);
  return Object.fromEntries(parts.filter(([, value]) => value !== null));
}

/** What has to be sent so that a resource becomes what is wanted; nothing that is so already. */
export function haChanges(wish: Managed, found: HaResource | undefined): HaResourceParams {
  const names = namesIn(wish).filter((name) => !found || foundValue(found, name) !== wish[name]);
  return Object.fromEntries(names.map((name) => [name, wish[name]]));
}

function namesIn(wish: Managed): Name[] {
  return NAMES.filter((name) => wish[name] !== undefined);
}

function foundValue(found: HaResource, name: Name): unknown {
  // `enabled` is the old word for it.
  if (name === 'state' && found.state === 'enabled') return 'started';
  return found[name] ?? DEFAULTS[name] ?? null;
}

function whoChanged(applied: unknown, wanted: unknown, before: unknown): Difference['by'] {
  if (applied === undefined) return 'file';
  if (applied === wanted) return 'others';
  return applied === before ? 'file' : 'both';
}
