/**
 * A store in an S3 bucket. Nothing is ever listed, and every write has a condition:
 *
 *     lease.json        the lock
 *     index.json        which object holds which document, and which chain holds the lines of which log
 *     objects/…         documents; an object never changes
 *     chains/…/00000001 the lines of a log that a run is writing: one object per append, numbered without a gap
 *
 * A new owner of the lock first writes its epoch into the index, which stops older runs from writing documents, then puts a seal at the end of each chain, which stops them from writing lines: the next number is taken. Everything acknowledged before is in front of the seal. Chains become documents when their run ends.
 */
import { z } from 'zod';
import { invariant, ProxwrightError } from '../../base/errors.ts';
import { type Random, randomHex } from '../../base/random.ts';
import { parseJson } from '../../base/text/safe-text.ts';
import type { LockHolder, LockOwner, StateStore, StoreLock } from '../store.ts';
import { type KeptLease, type Lease, type LeaseDeps, Leases, leaseSchema, lockLost } from './lease.ts';
import { storeDamaged, storeTooNew } from './retried.ts';
import type { Bucket, Condition } from './s3-bucket.ts';

export interface S3StoreOptions extends Omit<LeaseDeps, 'place'> {
  readonly bucket: Bucket;
  /** Prefix of the objects of this stack: `proxwright/lab/`. */
  readonly prefix: string;
  readonly shown: string;
  readonly random: Random;
}

const FORMAT = 1;
const LEASE = 'lease.json';
const INDEX = 'index.json';
/** Objects that are read or deleted at once. */
const AT_ONCE = 16;

const indexSchema = z.object({
  format: z.literal(FORMAT),
  /** Of the last run that took the lock; 0 before the first. */
  epoch: z.number().int(),
  /** Makes each version of the index different from every other. */
  mark: z.string(),
  documents: z.record(z.string(), z.string()),
  chains: z.record(z.string(), z.string()),
});
type Index = z.output<typeof indexSchema>;

const linkSchema = z.union([
  z.object({ mark: z.string(), line: z.string() }),
  z.object({ mark: z.string(), isSeal: z.literal(true) }),
]);

interface KeptIndex {
  readonly index: Index;
  /** Undefined if there is no index yet. */
  readonly etag: string | undefined;
}

/** A log that this run writes. */
interface Chain {
  readonly id: string;
  readonly lines: string[];
}

export class S3Store implements StateStore {
  readonly #options: S3StoreOptions;
  readonly #leases: Leases;
  readonly #chains = new Map<string, Chain>();
  /** The chain of another run that was read last. A link never changes, so the next read begins after these. */
  #lastRead: { readonly id: string; readonly lines: readonly string[] } | undefined;

  constructor(options: S3StoreOptions) {
    this.#options = options;
    const place = {
      shown: options.shown,
      read: () => this.#readLease(),
      replace: (lease: Lease, version: string | undefined) => this.#replaceLease(lease, version),
    };
    this.#leases = new Leases({ ...options, place });
  }

  async read(name: string): Promise<string | undefined> {
    let kept = await this.#readIndex();
    for (;;) {
      const { index } = kept;
      const [key, chain] = [index.documents[name], index.chains[name]];
      const document = key === undefined ? '' : (await this.#get(key))?.text;
      if (chain === undefined && document !== undefined) return key === undefined ? undefined : document;
      const own = this.#chains.get(name);
      const isOwn = own !== undefined && own.id === chain;
      const lines = isOwn ? own.lines : chain === undefined ? [] : await this.#readOn(chain);
      const text = () => `${document}${lines.map((line) => `${line}\n`).join('')}`;
      if (isOwn && document !== undefined) return text();
      // Objects are deleted once the index no longer names them. If it does, what was read is whole, or really lost.
      kept = await this.#readIndex();
      const isNamed = kept.index.documents[name] === key && kept.index.chains[name] === chain;
      if (isNamed && document !== undefined) return text();
      if (isNamed) throw this.#damaged(key ?? '');
    }
  }

  async write(name: string, text: string): Promise<void> {
    const key = await this.#putDocument(text);
    const old = await this.#changeIndex((index) => {
      const { [name]: chain, ...chains } = index.chains;
      this.#chains.delete(name);
      return { ...index, documents: { ...index.documents, [name]: key }, chains };
    });
    await this.#discard([old.documents[name]]);
  }

  async append(name: string, line: string): Promise<void> {
    invariant(!line.includes('\n'), 'A log line must not contain a line break.');
    const chain = this.#chains.get(name) ?? (await this.#beginChain(name));
    const link = JSON.stringify({ mark: this.#mark(), line });
    const tag = await this.#put(linkKey(chain.id, chain.lines.length + 1), link, 'absent');
    if (tag === undefined) throw this.#takenOver();
    chain.lines.push(line);
  }

  async remove(name: string): Promise<void> {
    const old = await this.#changeIndex((index) => {
      const { [name]: document, ...documents } = index.documents;
      const { [name]: chain, ...chains } = index.chains;
      this.#chains.delete(name);
      return { ...index, documents, chains };
    });
    await this.#discard([old.documents[name]]);
  }

  placeOf(name: string): string {
    return `${this.#options.shown}${name}`;
  }

  async list(prefix = ''): Promise<string[]> {
    const { documents, chains } = (await this.#readIndex()).index;
    const names = new Set([...Object.keys(documents), ...Object.keys(chains)]);
    return [...names].filter((name) => name.startsWith(prefix)).sort();
  }

  async lock(owner: LockOwner): Promise<StoreLock> {
    if ((await this.#get(LEASE)) === undefined) await this.#assertConditionsWork();
    const lock = await this.#leases.take(owner, async () => {
      if (this.#chains.size > 0) await this.#endChains();
    });
    this.#chains.clear();
    try {
      await this.#changeIndex((index) => ({ ...index, epoch: lock.epoch }));
      await this.#endChains();
    } catch (error) {
      await lock.release();
      throw error;
    }
    return lock;
  }

  holder(): Promise<LockHolder | undefined> {
    return this.#leases.holder();
  }

  unlock({ evenOf }: { readonly evenOf?: LockOwner | undefined } = {}): Promise<LockOwner | undefined> {
    return this.#leases.unlock(evenOf);
  }

  async #beginChain(name: string): Promise<Chain> {
    const chain: Chain = { id: `${this.#leases.held?.epoch ?? 0}-${this.#mark()}`, lines: [] };
    const before = await this.#changeIndex((index) => ({ ...index, chains: { ...index.chains, [name]: chain.id } }));
    invariant(before.chains[name] === undefined, `The log ${name} has two writers.`);
    this.#chains.set(name, chain);
    return chain;
  }

  /**
   * Seals every chain and turns it into a document, so that it is one object for readers. The seal itself stays: the
   * run that wrote the chain may still write its next line.
   */
  async #endChains(): Promise<void> {
    const { index } = await this.#readIndex();
    const ended = await Promise.all(
      Object.entries(index.chains).map(async ([name, id]) => {
        const own = this.#chains.get(name);
        const lines = await this.#seal(id, own?.id === id ? own.lines : []);
        const key = index.documents[name];
        const before = key === undefined ? '' : ((await this.#get(key))?.text ?? '');
        const document = await this.#putDocument(`${before}${lines.map((line) => `${line}\n`).join('')}`);
        return { name, id, key, document, links: lines.length };
      }),
    );
    if (ended.length === 0) return;
    await this.#changeIndex((now) => {
      const chains = { ...now.chains };
      for (const { name } of ended) delete chains[name];
      const documents = Object.fromEntries(ended.map(({ name, document }) => [name, document]));
      return { ...now, chains, documents: { ...now.documents, ...documents } };
    });
    for (const { name } of ended) this.#chains.delete(name);
    await this.#discard(
      ended.flatMap(({ id, key, links }) => [
        key,
        ...Array.from({ length: links }, (_, number) => linkKey(id, number + 1)),
      ]),
    );
  }

  /** Seals a chain and returns its lines, the first of which are known. */
  async #seal(id: string, known: readonly string[]): Promise<readonly string[]> {
    for (;;) {
      const { lines, isSealed } = await this.#readChain(id, known);
      if (isSealed) return lines;
      const seal = JSON.stringify({ mark: this.#mark(), isSeal: true });
      if ((await this.#put(linkKey(id, lines.length + 1), seal, 'absent')) !== undefined) return lines;
    }
  }

  /** A page that watches a run reads its journal again and again: only new links are asked for. */
  async #readOn(id: string): Promise<readonly string[]> {
    const { lines } = await this.#readChain(id, this.#lastRead?.id === id ? this.#lastRead.lines : []);
    this.#lastRead = { id, lines };
    return lines;
  }

  async #readChain(
    id: string,
    known: readonly string[] = [],
  ): Promise<{ readonly lines: string[]; readonly isSealed: boolean }> {
    const lines = [...known];
    for (;;) {
      // After what is known there is often nothing.
      const length = known.length > 0 && lines.length === known.length ? 2 : AT_ONCE;
      const numbers = Array.from({ length }, (_, offset) => lines.length + offset + 1);
      const found = await Promise.all(numbers.map((number) => this.#get(linkKey(id, number))));
      for (const [offset, object] of found.entries()) {
        if (!object) return { lines, isSealed: false };
        const { data: link } = linkSchema.safeParse(parseJson(object.text));
        if (!link) throw this.#damaged(linkKey(id, numbers[offset] ?? 0));
        if ('isSeal' in link) return { lines, isSealed: true };
        lines.push(link.line);
      }
    }
  }

  async #putDocument(text: string): Promise<string> {
    const key = `objects/${this.#leases.held?.epoch ?? 0}-${this.#mark()}`;
    const tag = await this.#put(key, text, 'absent');
    invariant(tag !== undefined, `The object ${key} exists already.`);
    return key;
  }

  async #readIndex(): Promise<KeptIndex> {
    const object = await this.#get(INDEX);
    if (!object) {
      const index: Index = { format: FORMAT, epoch: 0, mark: '', documents: {}, chains: {} };
      return { index, etag: undefined };
    }
    const value = parseJson(object.text);
    const parsed = indexSchema.safeParse(value);
    if (parsed.success) return { index: parsed.data, etag: object.etag };
    const format = typeof value === 'object' && value !== null && 'format' in value ? Number(value.format) : 0;
    if (format > FORMAT) throw storeTooNew(this.#options.shown, format, FORMAT);
    throw this.#damaged(INDEX);
  }

  /** Returns the index as it was before. Refused once a later run has written its epoch into it. */
  async #changeIndex(change: (index: Index) => Index): Promise<Index> {
    for (;;) {
      const { index, etag } = await this.#readIndex();
      const { held } = this.#leases;
      if (held && index.epoch > held.epoch) throw this.#takenOver();
      const next = { ...change(index), mark: this.#mark() };
      const condition = etag === undefined ? 'absent' : { ifMatch: etag };
      if ((await this.#put(INDEX, JSON.stringify(next), condition)) !== undefined) return index;
    }
  }

  async #readLease(): Promise<KeptLease | undefined> {
    const object = await this.#get(LEASE);
    if (!object) return undefined;
    const { data: lease } = leaseSchema.safeParse(parseJson(object.text));
    if (!lease) throw this.#damaged(LEASE);
    return { lease, version: object.etag, ageMs: object.ageMs };
  }

  #replaceLease(lease: Lease, version: string | undefined): Promise<string | undefined> {
    const text = JSON.stringify({ ...lease, mark: this.#mark() });
    return this.#put(LEASE, text, version === undefined ? 'absent' : { ifMatch: version });
  }

  /** Some servers accept conditions and ignore them; on those, two runs would both have the lock. */
  async #assertConditionsWork(): Promise<void> {
    const key = `probe-${this.#mark()}`;
    const first = await this.#put(key, 'first', 'absent');
    const again = await this.#put(key, 'second', 'absent');
    const other = await this.#put(key, 'third', { ifMatch: `"${'0'.repeat(32)}"` });
    const right = first === undefined ? undefined : await this.#put(key, 'fourth', { ifMatch: first });
    await this.#discard([key]);
    if (first !== undefined && again === undefined && other === undefined && right !== undefined) return;
    throw new ProxwrightError({
      code: 'STATE_UNWRITABLE',
      where: { file: this.#options.shown },
      detail: `This server does not keep the conditions If-None-Match and If-Match of a write${first === undefined || right === undefined ? ': it refuses a write whose condition holds' : ': it accepts a write whose condition does not hold'}. Without them, two runs could change the same VMs.`,
      hint: 'Use a server that has conditional writes (AWS, Ceph 19, Garage 2, MinIO, versitygw …), or another store.',
    });
  }

  /** Objects that nothing refers to any more. A leftover only takes a little space. */
  async #discard(keys: readonly (string | undefined)[]): Promise<void> {
    const gone = keys.filter((key) => key !== undefined).values();
    const work = async () => {
      for (const key of gone) await this.#options.bucket.delete(`${this.#options.prefix}${key}`).catch(() => {});
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  #get(key: string) {
    return this.#options.bucket.get(`${this.#options.prefix}${key}`);
  }

  #put(key: string, text: string, condition: Condition): Promise<string | undefined> {
    return this.#options.bucket.put(`${this.#options.prefix}${key}`, text, condition);
  }

  #mark(): string {
    return randomHex(this.#options.random, 16);
  }

  #takenOver(): ProxwrightError {
    return lockLost(this.#options.shown, 'Another run took it over.');
  }

  #damaged(key: string): ProxwrightError {
    return storeDamaged(this.#options.shown, `the object ${key} cannot be understood`);
  }
}

function linkKey(chain: string, number: number): string {
  return `chains/${chain}/${String(number).padStart(8, '0')}`;
}
