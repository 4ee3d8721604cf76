/** What was looked at when a VM was compared with the file: every field, equal or not. The evidence behind "no changes". */
import type { DesiredConfig } from '../desired.ts';
import { effectiveValues, type VmObserved } from '../observed.ts';
import { diffVm, type Recorded } from './diff.ts';
import { actualOf } from './merge.ts';
import { desiredValue, shownValue } from './shown.ts';

export interface ComparedField {
  /** Field of the file: `nics.net0.vlan`. */
  readonly path: string;
  /** Proxmox's key. */
  readonly key: string;
  /** Both in the words of the file; secrets as masks. */
  readonly wanted: unknown;
  readonly found: unknown;
  readonly equal: boolean;
  /** It is set, and waits for a restart. */
  readonly restartPending?: true;
}

export function comparedFields(
  desired: DesiredConfig,
  observed: VmObserved,
  recorded: Recorded,
): readonly ComparedField[] {
  const { differences, restartPending } = diffVm(desired, observed, recorded);
  const open = new Map(differences.map((difference) => [difference.path, difference]));
  const values = effectiveValues(observed);
  const fields = [...desired.values()].flatMap((entry) =>
    entry.fields.map((field): ComparedField => {
      const difference = open.get(field.path);
      return {
        path: field.path,
        key: entry.key,
        wanted: desiredValue(field),
        found: difference ? difference.before : shownValue(entry, field, actualOf(entry, values)),
        equal: difference === undefined,
        ...(restartPending.includes(field.path) && { restartPending: true }),
      };
    }),
  );
  const said = new Set(fields.map(({ path }) => path));
  // A device that the file only names has no field of its own.
  const devices = differences.filter(({ path }) => !said.has(path));
  return [
    ...fields,
    ...devices.map(({ path, key, before, after }) => ({ path, key, wanted: after, found: before, equal: false })),
  ];
}
