/** Random wishes of high availability, and what somebody else might make of them. For tests of the whole engine. */
import fc from 'fast-check';
import { type HaFields, haFields } from '../fields/ha.ts';
import { appliedHa } from '../ha.ts';

/** Now and then none at all; the state fits the power. */
export function haArbitrary(power: 'running' | 'stopped'): fc.Arbitrary<HaFields | undefined> {
  const states =
    power === 'running' ? (['started', 'ignored'] as const) : (['stopped', 'disabled', 'ignored'] as const);
  const managed = fc.record(
    {
      state: fc.constantFrom(...states),
      max_restart: fc.nat(4),
      max_relocate: fc.nat(4),
      comment: fc.constantFrom('kept alive', 'Grüße: a  b = "c"', '0'),
    },
    { requiredKeys: ['state'] },
  );
  const desired = fc.oneof(
    { weight: 3, arbitrary: managed.map((each) => haFields.parse(each)) },
    { weight: 1, arbitrary: fc.constant(false as const) },
  );
  return fc.option(desired, { nil: undefined, freq: 3 });
}

export interface ForeignHaChange {
  readonly path: string;
  readonly options: ReadonlyMap<string, string>;
}

/** For each field one change that differs in that field alone; `options` fulfil the wish. */
export function foreignHaChanges(
  desired: HaFields | undefined,
  options: ReadonlyMap<string, string> | undefined,
): ForeignHaChange[] {
  if (desired === false) return [{ path: 'ha', options: new Map([['state', 'ignored']]) }];
  return Object.keys(appliedHa(desired)).map((path) => {
    const name = path.slice('ha.'.length);
    return { path, options: new Map([...(options ?? []), [name, other(name, options?.get(name))]]) };
  });
}

function other(name: string, value: string | undefined): string {
  if (name === 'state') return value === 'ignored' ? 'disabled' : 'ignored';
  return name === 'comment' ? `${value} of others` : String(Number(value) + 5);
}
