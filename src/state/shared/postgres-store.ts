/**
 * A store in PostgreSQL: documents as rows with their history, logs as rows in order, and one row per store for its
 * lease. Every write of a run is one statement that also reads the lease, locked against a change: it takes effect only
 * while the lease has the epoch of that run.
 *
 * It depends on no session state of the server, so a connection pooler may be in between.
 */
import pg, { type Pool, type PoolClient, type PoolConfig } from 'pg';
import { invariant, ProxwrightError } from '../../base/errors.ts';
import { parseJson } from '../../base/text/safe-text.ts';
import type { LockHolder, LockOwner, StateStore, StoreLock } from '../store.ts';
import { type KeptLease, type Lease, type LeaseDeps, Leases, leaseSchema, lockLost } from './lease.ts';
import { migrate, SCHEMA_VERSION } from './postgres-schema.ts';
import { type Retried, Retries, storeDamaged, storeTooNew } from './retried.ts';

export interface PostgresStoreOptions extends Omit<LeaseDeps, 'place'>, Retried {
  readonly connection: PoolConfig;
  /** The schema that holds the tables. */
  readonly schema?: string;
  /** One database serves many stacks. */
  readonly store: string;
  /** The address without its password. */
  readonly shown: string;
}

/** Versions of a document that are kept besides the newest. */
const KEPT_VERSIONS = 50;

export class PostgresStore implements StateStore {
  readonly #options: PostgresStoreOptions;
  readonly #leases: Leases;
  readonly #retries: Retries;
  readonly #schema: string;
  #pool: Promise<Pool> | undefined;
  /** The number of the last line of each log, and the last version of each document, that this run writes. */
  readonly #lastLines = new Map<string, number>();
  readonly #versions = new Map<string, number>();

  constructor(options: PostgresStoreOptions) {
    this.#options = options;
    this.#retries = new Retries(options);
    const { schema = 'proxwright' } = options;
    invariant(/^[a-z_][a-z0-9_]{0,62}$/.test(schema), `"${schema}" cannot be the name of a schema.`);
    this.#schema = schema;
    const place = {
      shown: options.shown,
      read: () => this.#readLease(),
      replace: (lease: Lease, version: string | undefined) => this.#replaceLease(lease, version),
    };
    this.#leases = new Leases({ ...options, place });
  }

  async read(name: string): Promise<string | undefined> {
    // One statement, so that a log which is being replaced is read before or after, never between.
    const rows = await this.#query(
      `(select 0 as number, body as text from ${this.#schema}.documents
        where store = $1 and name = $2 order by version desc limit 1)
       union all
       select number, line from ${this.#schema}.lines where store = $1 and name = $2
       order by number`,
      [this.#store, name],
    );
    const isWhole = (row: Readonly<Record<string, unknown>>) => Number(row.number) === 0;
    const body = rows.find(isWhole)?.text;
    const lines = rows.filter((row) => !isWhole(row));
    if (lines.length === 0) return typeof body === 'string' ? body : undefined;
    // What was written as a whole comes first, then what was appended to it.
    return `${body ?? ''}${lines.map(({ text }) => `${text}\n`).join('')}`;
  }

  /**
   * Replaces a log as well. A repeated statement, however late it arrives, finds its own version and leaves lines alone
   * that were appended since.
   */
  async write(name: string, text: string): Promise<void> {
    const version = 1 + (this.#versions.get(name) ?? (await this.#lastVersion(name)));
    await this.#fenced(
      `, old as (
           delete from ${this.#schema}.documents
           where store = $1 and name = $3 and version <= $4 - ${KEPT_VERSIONS} and exists (select from held)
         )
       , replaced as (
           delete from ${this.#schema}.lines
           where store = $1 and name = $3 and exists (select from held) and not exists (
             select from ${this.#schema}.documents where store = $1 and name = $3 and version = $4
           )
         )
       insert into ${this.#schema}.documents (store, name, version, epoch, body)
       select $1, $3, $4, $2, $5 from held
       on conflict (store, name, version) do update set body = excluded.body where documents.body = excluded.body
       returning 1`,
      [name, version, text],
    );
    this.#versions.set(name, version);
    this.#lastLines.delete(name);
  }

  async append(name: string, line: string): Promise<void> {
    invariant(!line.includes('\n'), 'A log line must not contain a line break.');
    const number = 1 + (this.#lastLines.get(name) ?? (await this.#countLines(name)));
    // A line that was written although its answer was lost is found under its number.
    await this.#fenced(
      `insert into ${this.#schema}.lines (store, name, number, epoch, line)
       select $1, $3, $4, $2, $5 from held
       on conflict (store, name, number) do update set line = excluded.line where lines.line = excluded.line
       returning 1`,
      [name, number, line],
    );
    this.#lastLines.set(name, number);
  }

  async remove(name: string): Promise<void> {
    await this.#fenced(
      `, gone as (delete from ${this.#schema}.lines where store = $1 and name = $3 and exists (select from held))
       , removed as (delete from ${this.#schema}.documents where store = $1 and name = $3 and exists (select from held))
       select 1 from held`,
      [name],
    );
    this.#lastLines.delete(name);
    this.#versions.delete(name);
  }

  placeOf(name: string): string {
    return `${this.#options.shown}/${name}`;
  }

  async list(prefix = ''): Promise<string[]> {
    const rows = await this.#query(
      `select name from ${this.#schema}.lines where store = $1 and starts_with(name, $2)
       union
       select name from (
         select distinct on (name) name, body from ${this.#schema}.documents
         where store = $1 and starts_with(name, $2) order by name, version desc
       ) as newest where body is not null`,
      [this.#store, prefix],
    );
    return rows.map(({ name }) => String(name)).sort();
  }

  async lock(owner: LockOwner): Promise<StoreLock> {
    const lock = await this.#leases.take(owner);
    this.#lastLines.clear();
    this.#versions.clear();
    return lock;
  }

  holder(): Promise<LockHolder | undefined> {
    return this.#leases.holder();
  }

  unlock({ evenOf }: { readonly evenOf?: LockOwner | undefined } = {}): Promise<LockOwner | undefined> {
    return this.#leases.unlock(evenOf);
  }

  async close(): Promise<void> {
    const pool = await this.#pool?.catch(() => undefined);
    this.#pool = undefined;
    await pool?.end();
  }

  get #store(): string {
    return this.#options.store;
  }

  async #lastVersion(name: string): Promise<number> {
    const rows = await this.#query(
      `select coalesce(max(version), 0) as version from ${this.#schema}.documents where store = $1 and name = $2`,
      [this.#store, name],
    );
    return Number(rows[0]?.version ?? 0);
  }

  async #countLines(name: string): Promise<number> {
    const rows = await this.#query(
      `select coalesce(max(number), 0) as number from ${this.#schema}.lines where store = $1 and name = $2`,
      [this.#store, name],
    );
    return Number(rows[0]?.number ?? 0);
  }

  /**
   * A statement that takes effect only while the lease is held; it selects from `held`, and its parameters begin at $3.
   * A command without a lease, such as one that only saves a copy, writes despite the lease of another run.
   */
  async #fenced(statement: string, values: readonly unknown[]): Promise<void> {
    const epoch = this.#leases.held?.epoch;
    const held =
      epoch === undefined
        ? 'with held as (select 1 where $1::text is not null and $2::bigint is not null)'
        : `with held as (
             select 1 from ${this.#schema}.leases
             where store = $1 and epoch = $2 and is_held for share
           )`;
    const rows = await this.#query(`${held} ${statement}`, [this.#store, epoch ?? 0, ...values]);
    if (rows.length === 0) {
      this.#leases.held?.assertHeld();
      throw lockLost(this.#options.shown, 'Another run took it over.');
    }
  }

  async #readLease(): Promise<KeptLease | undefined> {
    const [row] = await this.#query(
      `select lease, version,
         extract(epoch from clock_timestamp() - written_at) * 1000 as age
       from ${this.#schema}.leases where store = $1`,
      [this.#store],
    );
    if (!row) return undefined;
    const parsed = leaseSchema.safeParse(parseJson(String(row.lease)));
    if (!parsed.success) throw storeDamaged(this.#options.shown, 'the row of its lock cannot be understood');
    return { lease: parsed.data, version: String(row.version), ageMs: Number(row.age) };
  }

  async #replaceLease(lease: Lease, version: string | undefined): Promise<string | undefined> {
    const next = BigInt(version ?? 0) + 1n;
    const values = [this.#store, String(next), JSON.stringify(lease), lease.epoch, lease.owner !== undefined];
    const changed =
      version === undefined
        ? await this.#query(
            `insert into ${this.#schema}.leases (store, version, lease, epoch, is_held) values ($1, $2, $3, $4, $5)
             on conflict do nothing returning 1`,
            values,
          )
        : await this.#query(
            `update ${this.#schema}.leases
             set version = $2, lease = $3, epoch = $4, is_held = $5, written_at = clock_timestamp()
             where store = $1 and version = $2 - 1 returning 1`,
            values,
          );
    if (changed.length > 0) return String(next);
    // An earlier attempt may have done it, and its answer was lost.
    const now = await this.#readLease();
    return now && now.version === String(next) && JSON.stringify(now.lease) === JSON.stringify(lease)
      ? now.version
      : undefined;
  }

  /** Every statement may be sent twice: after a lost connection it finds what the first attempt did. */
  async #query(text: string, values: unknown[]): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return this.#retries.run(isTransient, async () => {
      const pool = await this.#connected();
      return (await pool.query(text, values)).rows;
    });
  }

  /** Connects and creates the tables, once. */
  async #connected(): Promise<Pool> {
    this.#pool ??= this.#open();
    try {
      return await this.#pool;
    } catch (error) {
      this.#pool = undefined;
      throw error;
    }
  }

  async #open(): Promise<Pool> {
    const pool = new pg.Pool({
      max: 4,
      connectionTimeoutMillis: 10_000,
      query_timeout: 30_000,
      idleTimeoutMillis: 10_000,
      allowExitOnIdle: true,
      application_name: 'proxwright',
      ...this.#options.connection,
    });
    // A connection that fails while it is idle is replaced by the next query.
    pool.on('error', () => {});
    try {
      await this.#prepare(pool);
      return pool;
    } catch (error) {
      await pool.end();
      throw error;
    }
  }

  async #prepare(pool: Pool): Promise<void> {
    const version = await this.#versionOf(pool);
    if (version > SCHEMA_VERSION) throw storeTooNew(this.#options.shown, version, SCHEMA_VERSION);
    if (version === SCHEMA_VERSION) return;
    const connection: PoolClient = await pool.connect();
    // The current statement reports it; without a listener it would end the process.
    connection.on('error', () => {});
    try {
      await connection.query('begin');
      await migrate(connection, this.#schema);
      await connection.query('commit');
    } catch (error) {
      await connection.query('rollback').catch(() => {});
      throw isStatementPooling(error) ? this.#pooled(error) : error;
    } finally {
      connection.release();
    }
  }

  #pooled(cause: unknown): ProxwrightError {
    return new ProxwrightError({
      code: 'STATE_UNWRITABLE',
      where: { file: this.#options.shown },
      detail:
        'The tables cannot be created through this pooler: its pool_mode is "statement", which allows no transactions.',
      hint: 'Run one command over a direct connection, or set pool_mode to "transaction" or "session". Afterwards every mode works.',
      cause,
    });
  }

  /** 0 without the tables. Checked first, because most database users may not create a schema. */
  async #versionOf(pool: Pool): Promise<number> {
    try {
      const { rows } = await pool.query(`select max(version) as version from ${this.#schema}.migrations`);
      return Number(rows[0]?.version ?? 0);
    } catch (error) {
      if (codeOf(error) === UNDEFINED_TABLE || codeOf(error) === UNDEFINED_SCHEMA) return 0;
      throw error;
    }
  }
}

const UNDEFINED_TABLE = '42P01';
const UNDEFINED_SCHEMA = '3F000';

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** The message of PgBouncer, which then closes the connection. */
function isStatementPooling(error: unknown): boolean {
  return error instanceof Error && error.message.includes('statement pooling mode');
}

/**
 * Connections that failed; a server that starts, stops or has too many clients; a standby that is not promoted yet (25006);
 * and conflicts of statements (40001, 40P01), which a database with stricter transactions than usual reports.
 */
function isTransient(error: unknown): boolean {
  const code = codeOf(error);
  if (/^(08|57P|53|25006|40001|40P01)/.test(code)) return true;
  if (/^(ECONN|EPIPE|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH)/.test(code)) return true;
  return (
    error instanceof Error &&
    /Connection terminated|timeout|Client has encountered a connection error/i.test(error.message)
  );
}
