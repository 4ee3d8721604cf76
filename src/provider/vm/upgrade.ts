/** States that earlier versions of the schema wrote, made into today's step by step. */

type StoredState = Readonly<Record<string, unknown>>;

/** From version n to n + 1, by n. A state is plain JSON here; attributes that are new become null by themselves. */
export type Migrations = readonly ((state: StoredState) => StoredState)[];

/** One entry for each time the version of the schema was raised. */
export const VM_MIGRATIONS: Migrations = [];

export function migrated(migrations: Migrations, version: number, state: unknown): unknown {
  if (typeof state !== 'object' || state === null) return state;
  return migrations.slice(version).reduce((older, migrate) => migrate(older), state as StoredState);
}
