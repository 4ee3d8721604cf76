/** The tables of the PostgreSQL store. Each entry migrates a database from the previous version to its own. */

const MIGRATIONS: readonly string[] = [
  `create table leases (
     store      text primary key,
     version    bigint not null,
     epoch      bigint not null,
     is_held    boolean not null,
     lease      text not null,
     written_at timestamptz not null default clock_timestamp()
   );
   create table documents (
     store      text not null,
     name       text not null,
     version    bigint not null,
     epoch      bigint not null,
     body       text,
     written_at timestamptz not null default clock_timestamp(),
     primary key (store, name, version)
   );
   create table lines (
     store      text not null,
     name       text not null,
     number     bigint not null,
     epoch      bigint not null,
     line       text not null,
     written_at timestamptz not null default clock_timestamp(),
     primary key (store, name, number)
   );`,
];

export const SCHEMA_VERSION = MIGRATIONS.length;

/** What `migrate` needs from a connection that is inside a transaction. */
interface Queries {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>;
}

/** Creates or updates the tables; call it inside a transaction. Returns the version that the database has then. */
export async function migrate(connection: Queries, schema: string): Promise<number> {
  // Two first runs may come at the same time; the lock ends with the transaction.
  await connection.query('select pg_advisory_xact_lock(hashtext($1))', [`migrate ${schema}`]);
  // "if not exists" would need the right to create schemas even where an administrator has created this one.
  const { rows: schemas } = await connection.query('select from pg_namespace where nspname = $1', [schema]);
  if (schemas.length === 0) await connection.query(`create schema ${schema}`);
  await connection.query(
    `create table if not exists ${schema}.migrations (version int primary key, applied_at timestamptz not null default clock_timestamp())`,
  );
  const { rows } = await connection.query(`select coalesce(max(version), 0) as version from ${schema}.migrations`);
  const found = Number(rows[0]?.version ?? 0);
  for (const [index, text] of MIGRATIONS.entries()) {
    const version = index + 1;
    if (version <= found) continue;
    await connection.query(`set local search_path to ${schema}`);
    await connection.query(text);
    await connection.query(`insert into ${schema}.migrations (version) values ($1)`, [version]);
  }
  return Math.max(found, SCHEMA_VERSION);
}
