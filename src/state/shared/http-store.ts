/**
 * A store behind Terraform's HTTP backend protocol, as GitLab offers it: one document, which the server may keep in all
 * its versions, and a lock. So only the state goes there, with the salt of its digests, without which every other
 * machine would see changed secrets. Everything else, the journal included, stays in a local directory; to let another
 * machine resume what this one began, the state is posted whenever an identity in it changes. Once another machine has
 * posted one, the journal of a dead run of this machine no longer counts.
 *
 * The lock has no lease: a run that was cut off keeps it until it is removed with `state unlock`. What is peculiar to GitLab
 * follows its source: https://gitlab.com/gitlab-org/gitlab/-/blob/master/lib/api/terraform/state.rb
 */
import { Buffer } from 'node:buffer';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { type Random, randomUuid } from '../../base/random.ts';
import type { Secret } from '../../base/secret.ts';
import { parseJson } from '../../base/text/safe-text.ts';
import type { StackState } from '../../kinds/recorded.ts';
import { eventSchema, foldEvents } from '../events.ts';
import { closeRun, endedJournal, isUnfinished, unfinishedRuns } from '../journal.ts';
import { assertMayUnlock, describeLock, lockedBy, UNREADABLE_OWNER } from '../lock-refusal.ts';
import { readRecorded } from '../recorded.ts';
import { sealed } from '../seal.ts';
import { backUpState, movedTo, parseState, printState, SALT_FILE, STATE_FILE } from '../state-file.ts';
import type { LockHolder, LockOwner, Outbox, StateStore, StoreLock } from '../store.ts';
import { exchange, isConnectionFailure, type Reply } from './http-exchange.ts';
import { type HttpLock, holderOf, httpLockOf, httpLockSchema } from './http-lock.ts';
import { lockLost } from './lease.ts';
import { Retries, storeDamaged } from './retried.ts';

export interface HttpStoreOptions {
  readonly address: string;
  readonly updateMethod?: string | undefined;
  readonly lockAddress?: string | undefined;
  readonly lockMethod?: string | undefined;
  readonly unlockAddress?: string | undefined;
  readonly unlockMethod?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: Secret | undefined;
  readonly ca?: string | undefined;
  readonly shown: string;
  readonly stackName: string;
  /** For everything but the state. */
  readonly local: StateStore;
  readonly clock: Clock;
  readonly random: Random;
}

const FORMAT = 1;
const WRITER_FILE = 'writer';
/** The last lock that this directory took: some servers tell no more about a lock than its ID. */
const LOCK_FILE = 'server-lock';

/** The outer form is that of an empty Terraform state, whose serial and lineage some servers read. */
const documentSchema = z.looseObject({
  proxwright: z.object({
    format: z.literal(FORMAT),
    state: z.string(),
    writer: z.string(),
    /** Absent before the first secret, and from versions that kept it on each machine. */
    salt: z.string().optional(),
  }),
});

export class HttpStore implements StateStore {
  readonly journalsAreLocal = true;
  /** The journal is on this machine anyway: a state that could not be posted follows from it. */
  readonly outbox: Outbox = {
    keep: (name, line) => this.#options.local.append(name, line),
    unsent: async () => [],
  };
  readonly #options: HttpStoreOptions;
  readonly #retries: Retries;
  #held: HttpLock | undefined;
  /** While the lock is held: the state that was read then, plus what was appended to journals since. */
  #state: StackState | undefined;
  /** The state that the server had when this run took the lock, until there is a backup of it. */
  #found: string | undefined;
  /** As the server last had it, or as the next state will set it. */
  #salt: string | undefined;
  /**
   * Of the document that the server has. GitLab refuses a serial that it has already, and shows the document with the
   * highest one, so each document gets a higher serial than the one before, also the note that a state was moved.
   */
  #serial: number | undefined;

  constructor(options: HttpStoreOptions) {
    this.#options = options;
    this.#retries = new Retries(options);
  }

  async read(name: string): Promise<string | undefined> {
    if (name === STATE_FILE) return (await this.#get())?.state;
    const text = await this.#options.local.read(name);
    if (name === SALT_FILE) return (await this.#get())?.salt ?? text;
    if (text === undefined || !isUnfinished(name, text) || !(await this.#isSuperseded())) return text;
    return endedJournal(text, this.#options.clock.now());
  }

  async #get(): Promise<z.output<typeof documentSchema>['proxwright'] | undefined> {
    const reply = await this.#send('GET', this.#options.address);
    if (reply.status === 404 || reply.status === 204 || (reply.status === 200 && reply.body.trim() === '')) {
      this.#serial = 0;
      return undefined;
    }
    if (reply.status !== 200) throw this.#refused(reply);
    const value = parseJson(reply.body);
    this.#serial = z.looseObject({ serial: z.number() }).safeParse(value).data?.serial ?? 0;
    const parsed = documentSchema.safeParse(value);
    if (parsed.success) {
      this.#salt = parsed.data.proxwright.salt;
      return parsed.data.proxwright;
    }
    if (z.looseObject({ terraform_version: z.string() }).safeParse(value).success) {
      throw new ProxwrightError({
        code: 'BAD_VALUE',
        where: { file: this.#options.shown },
        detail: 'This address holds a state of Terraform or OpenTofu, not one of Proxwright.',
        hint: 'Use a separate address for each stack.',
      });
    }
    throw storeDamaged(this.#options.shown, 'the document is not one of Proxwright');
  }

  async write(name: string, text: string): Promise<void> {
    if (name === STATE_FILE) return this.#post(text);
    if (name === SALT_FILE) this.#salt = text;
    await this.#options.local.write(name, text);
  }

  async append(name: string, line: string): Promise<void> {
    await this.#options.local.append(name, line);
    const { data: event } = eventSchema.safeParse(sealed(parseJson(line)).content);
    if (!event || !this.#state) return;
    const before = this.#state;
    this.#state = foldEvents(before, [event]);
    if (identitiesIn(before) === identitiesIn(this.#state)) return;
    this.#state = { ...this.#state, serial: this.#state.serial + 1 };
    if (this.#found !== undefined) await backUpState(this, this.#found);
    this.#found = undefined;
    await this.#post(printState(this.#state));
  }

  async remove(name: string): Promise<void> {
    if (name !== STATE_FILE) return this.#options.local.remove(name);
    const reply = await this.#send('DELETE', this.#options.address);
    if (reply.status >= 300 && reply.status !== 404) throw this.#refused(reply);
  }

  placeOf(name: string): string {
    return name === STATE_FILE ? this.#options.shown : this.#options.local.placeOf(name);
  }

  async list(prefix = ''): Promise<string[]> {
    const names = (await this.#options.local.list(prefix)).filter(
      (name) => name !== STATE_FILE && name !== WRITER_FILE && name !== LOCK_FILE,
    );
    const isThere = (name: string) => name.startsWith(prefix);
    const kept = [STATE_FILE, SALT_FILE].some(isThere) ? await this.#get() : undefined;
    const there = [...(kept ? [STATE_FILE] : []), ...(kept?.salt === undefined ? [] : [SALT_FILE])].filter(isThere);
    return [...new Set([...names, ...there])].sort();
  }

  async lock(owner: LockOwner): Promise<StoreLock> {
    const lock = await httpLockOf(owner, this.#options.random);
    let takenOverFrom: LockOwner | undefined;
    for (;;) {
      const other = await this.#tryLock(lock);
      if (!other) break;
      const holder = await this.#holderOf(other, lock);
      if (holder.life !== 'dead') throw lockedBy(holder, this.#options.shown);
      await this.#removeLock(other);
      takenOverFrom = holder.owner;
    }
    await this.#options.local.write(LOCK_FILE, JSON.stringify(lock));
    if (await this.#isSuperseded()) await this.#closeJournals();
    this.#held = lock;
    this.#found = undefined;
    try {
      this.#state = (await readRecorded(this, this.#options.stackName)).state;
      this.#found = await this.read(STATE_FILE);
    } catch {
      // Callers that need an unreadable state report it.
      this.#state = undefined;
    }
    let isLeft = false;
    return {
      owner,
      takenOverFrom,
      assertHeld: () => {},
      release: async () => {
        this.#held = undefined;
        this.#state = undefined;
        await this.#removeLock(lock).catch(() => {
          isLeft = true;
        });
      },
      leftLocked: () => isLeft,
    };
  }

  /** The protocol has no request for it: this takes the lock, and releases it if it was free. */
  async holder(): Promise<LockHolder | undefined> {
    const question = await this.#question();
    const other = await this.#tryLock(question);
    if (!other) await this.#removeLock(question);
    return other && this.#holderOf(other, question);
  }

  async unlock({ evenOf }: { readonly evenOf?: LockOwner | undefined } = {}): Promise<LockOwner | undefined> {
    const question = await this.#question();
    const other = await this.#tryLock(question);
    if (!other) {
      await this.#removeLock(question);
      return undefined;
    }
    const holder = await this.#holderOf(other, question);
    assertMayUnlock(holder, evenOf, this.#options.shown);
    await this.#removeLock(other);
    return holder.owner;
  }

  #question(): Promise<HttpLock> {
    return httpLockOf({ ...UNREADABLE_OWNER, pid: process.pid, command: 'state unlock' }, this.#options.random);
  }

  async #holderOf(lock: HttpLock, ours: HttpLock): Promise<LockHolder> {
    const known = httpLockSchema.safeParse(parseJson((await this.#options.local.read(LOCK_FILE)) ?? '')).data;
    return holderOf(lock, ours, known);
  }

  async #closeJournals(): Promise<void> {
    const { local, clock } = this.#options;
    for (const { runId } of await unfinishedRuns(local)) await closeRun(local, clock, runId);
  }

  async #post(text: string): Promise<void> {
    const posted = movedTo(text) === undefined ? parseState(text, this.#options.shown) : undefined;
    // One that cannot be understood is replaced.
    if (this.#serial === undefined) await this.#get().catch(() => undefined);
    const salt = this.#salt ?? (await this.#options.local.read(SALT_FILE));
    const serial = Math.max(posted?.serial ?? 0, (this.#serial ?? 0) + 1);
    const body = JSON.stringify({
      version: 4,
      serial,
      lineage: posted?.lineage ?? '',
      outputs: {},
      resources: [],
      proxwright: { format: FORMAT, state: text, writer: await this.#writer(), salt },
    });
    const url = new URL(this.#options.address);
    if (this.#held) url.searchParams.set('ID', this.#held.ID);
    const reply = await this.#send(this.#options.updateMethod ?? 'POST', url.href, body, () => this.#assertLocked());
    if (reply.status === 409 || reply.status === 423)
      throw lockLost(this.#options.shown, 'Its server refuses the state.');
    // GitLab refuses a second attempt whose first answer was lost: it has that serial.
    if (reply.status >= 300 && !(await this.#has(body))) throw this.#refused(reply);
    this.#serial = serial;
    // What follows from the journal is added to what the server has, its lineage included.
    if (this.#state && posted) this.#state = posted;
  }

  async #has(body: string): Promise<boolean> {
    const { status, body: kept } = await this.#send('GET', this.#options.address);
    return status === 200 && kept.trim() === body;
  }

  /**
   * GitLab answers 500 to a state that is posted without the lock. Taking our lock a second time shows whether we have it:
   * the refusal names its owner. If it succeeds, it was free, unless the server lets an owner take its lock any number of times.
   */
  async #assertLocked(): Promise<void> {
    const held = this.#held;
    if (!held) return;
    const { lockAddress, lockMethod = 'LOCK', address, shown } = this.#options;
    const again = () => this.#exchange(lockMethod, lockAddress ?? address, JSON.stringify(held));
    const first = await again();
    if (first.status === 200) {
      if ((await again()).status === 200) return;
      await this.#removeLock(held);
      throw lockLost(shown, 'It was removed.');
    }
    const { data: other } = httpLockSchema.safeParse(parseJson(first.body));
    const isRefused = first.status === 409 || first.status === 423;
    if (isRefused && other && other.ID !== held.ID)
      throw lockLost(shown, describeLock((await this.#holderOf(other, held)).owner));
  }

  /** Whether another machine was the last to post a state. The run that holds the lock has checked before. */
  async #isSuperseded(): Promise<boolean> {
    if (this.#held) return false;
    const written = await this.#get();
    return written !== undefined && written.writer !== (await this.#writer());
  }

  /** The name of this directory among those that post the state. */
  async #writer(): Promise<string> {
    const known = await this.#options.local.read(WRITER_FILE);
    if (known !== undefined) return known.trim();
    const made = randomUuid(this.#options.random);
    await this.#options.local.write(WRITER_FILE, `${made}\n`);
    return made;
  }

  /** Undefined if the lock was taken; else the lock that another run holds. */
  async #tryLock(lock: HttpLock): Promise<HttpLock | undefined> {
    const { lockAddress, lockMethod = 'LOCK', address } = this.#options;
    const reply = await this.#send(lockMethod, lockAddress ?? address, JSON.stringify(lock));
    if (reply.status === 200) return undefined;
    if (reply.status === 409 || reply.status === 423) {
      const { data: other } = httpLockSchema.safeParse(parseJson(reply.body));
      // Our own attempt, whose answer was lost.
      if (other?.ID === lock.ID) return undefined;
      return other ?? httpLockSchema.parse({ ID: '' });
    }
    if (reply.status === 404 || reply.status === 405 || reply.status === 501) {
      throw new ProxwrightError({
        code: 'STATE_UNWRITABLE',
        where: { file: this.#options.shown },
        detail: `The server answers ${reply.status} to ${lockMethod}: this address has no lock.`,
        hint: 'Set state.http.lock_address and state.http.lock_method; GitLab has them at …/lock, with POST and DELETE.',
      });
    }
    throw this.#refused(reply);
  }

  async #removeLock(lock: HttpLock): Promise<void> {
    const { unlockAddress, unlockMethod = 'UNLOCK', lockAddress, address } = this.#options;
    const url = new URL(unlockAddress ?? lockAddress ?? address);
    if (unlockMethod === 'DELETE') url.searchParams.set('ID', lock.ID);
    const reply = await this.#send(unlockMethod, url.href, JSON.stringify(lock));
    if (reply.status >= 300 && reply.status !== 404 && reply.status !== 409) throw this.#refused(reply);
  }

  /**
   * Each request may be repeated: the document is replaced as a whole, and a lock has an id. `onFault`: called after an
   * answer that tells of a fault of the server, before the next attempt.
   */
  async #send(method: string, address: string, body?: string, onFault?: () => Promise<void>): Promise<Reply> {
    return this.#retries.run(isConnectionFailure, async () => {
      const reply = await this.#exchange(method, address, body);
      if (reply.status >= 500 && reply.status !== 501) {
        await onFault?.();
        throw Object.assign(new Error(`${method}: status ${reply.status}`), { code: 'ECONNABORTED' });
      }
      return reply;
    });
  }

  #exchange(method: string, address: string, body?: string): Promise<Reply> {
    const { username, password, ca } = this.#options;
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    if (username !== undefined || password) {
      headers.authorization = `Basic ${Buffer.from(`${username ?? ''}:${password?.reveal() ?? ''}`).toString('base64')}`;
    }
    return exchange(new URL(address), { method, headers, body, ca });
  }

  #refused({ status, headers, body }: Reply): ProxwrightError {
    const said = body.trim().split('\n')[0]?.slice(0, 200);
    const elsewhere = status >= 300 && status < 400 ? hostIn(headers.location, this.#options.address) : undefined;
    return new ProxwrightError({
      code: 'STATE_UNWRITABLE',
      where: { file: this.#options.shown },
      detail: `The server answers ${status}${elsewhere ? ` and points to ${elsewhere}` : ''}${said ? `: "${said}"` : ''}.`,
      hint: elsewhere ? 'Redirects are not followed: name that address.' : (HINTS[status] ?? HINT),
    });
  }
}

const HINT = 'Check the address, the user name and the password or token.';
const HINTS: Readonly<Record<number, string>> = {
  413: 'The state is larger than the server allows: raise its limit (in GitLab: the largest Terraform state), or use another store.',
  422: 'The server does not accept this document. In GitLab, a state that is being deleted answers so, too.',
};

/** Where a redirect leads, without a query, which may hold a token. */
function hostIn(location: string | undefined, from: string): string | undefined {
  if (location === undefined || !URL.canParse(location, from)) return undefined;
  const { origin, pathname } = new URL(location, from);
  return `${origin}${pathname}`;
}

/** What another machine needs in order to resume: which VM and which file belongs to which address. */
function identitiesIn({ vms, files }: StackState): string {
  const machines = Object.entries(vms).map(([address, { vmid, node, uuid, phase }]) => [
    address,
    vmid,
    node,
    uuid,
    phase,
  ]);
  return JSON.stringify([machines.sort(), Object.keys(files).sort()]);
}
