/**
 * Runs the actions of files against the simulator, on virtual time, with a memory and a journal as an engine would keep
 * them. A run can be killed at any request and at any line of the journal: from then on it does nothing more.
 */
import { createHash } from 'node:crypto';
import type { Address } from '../../../src/base/address.ts';
import type { ProxwrightError } from '../../../src/base/errors.ts';
import type { ImageSource } from '../../../src/base/image-source.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { DEFAULT_RETRY, retryWhileBusy } from '../../../src/base/retry.ts';
import type { OpenAct } from '../../../src/kinds/action.ts';
import { GuestSigns } from '../../../src/kinds/guest-signs.ts';
import { IdReservations } from '../../../src/kinds/ids.ts';
import { settleFile } from '../../../src/kinds/image/actions/settle.ts';
import { FILE_ACTIONS } from '../../../src/kinds/image/kind.ts';
import type { FileRecord } from '../../../src/kinds/image/record.ts';
import type { FileActionName, FileContext, FileInputs } from '../../../src/kinds/image/steps.ts';
import type { Pve } from '../../../src/pve/index.ts';
import type { FaultPlan, FaultRuleInput } from '../../../src/simulator/index.ts';
import type { RemoteFile, Volume } from '../../../src/simulator/world/world.ts';
import { MortalBench } from '../support/mortal-bench.ts';

export const IMAGE = 'image.noble' as Address; // images have addresses of their own
export const URL_OF_IMAGE = 'https://images.example/noble.qcow2';
export const VOLID = 'local:import/noble.qcow2';
export const KEY = `pve1/${VOLID}`;
export const PLACE = { node: 'pve1', storage: 'local', content: 'import', file: 'noble.qcow2' } as const;
export const TOKEN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';
const MB = 1_000_000;

/** Small enough to be held, large enough to come in pieces; it begins like a qcow2 image. */
export const BYTES = Buffer.alloc(3 * MB, 'proxwright');
BYTES.writeUInt32BE(0x514649fb, 0);
BYTES.writeUInt32BE(3, 4);
export const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
export const SHA256 = sha256Of(BYTES);

export const remoteFile = (facts: Partial<RemoteFile> = {}): RemoteFile => ({
  sizeBytes: 300 * MB,
  virtualSizeBytes: 2 ** 31,
  mimetype: 'application/octet-stream',
  format: 'qcow2',
  compression: undefined,
  unpackedBytes: undefined,
  unpackedChecksums: {},
  checksums: { sha256: SHA256 },
  status: 200,
  trouble: undefined,
  guest: undefined,
  ...facts,
});

/** Bytes in memory, in pieces, as a local file would give them. */
export function bytesSource(bytes: Uint8Array = BYTES): ImageSource {
  return {
    prepare: async () => ({
      sizeBytes: bytes.byteLength,
      sha256: sha256Of(bytes),
      async *open() {
        for (let start = 0; start < bytes.byteLength; start += 256 * 1024)
          yield bytes.subarray(start, start + 256 * 1024);
      },
    }),
  };
}

export class FileBench extends MortalBench {
  pve: Pve;
  readonly logs: string[] = [];
  readonly progress: [string, number | undefined][] = [];
  files = new Map<string, FileRecord>();
  open: OpenAct | undefined;
  lockedTicks = 0;
  source: ImageSource = bytesSource();
  timeouts: FileContext['timeouts'];

  constructor(faults: FaultPlan | readonly FaultRuleInput[] = [], seed = 'files', token = TOKEN) {
    super(faults, seed);
    this.world.downloads.set(URL_OF_IMAGE, remoteFile());
    this.timeouts = {
      cloneMs: 1_800_000,
      diskMoveMs: 43_200_000,
      startMs: 300_000,
      shutdownMs: 180_000,
      lockMs: 300_000,
      imageMs: 3_600_000,
    };
    this.pve = this.connect(token);
  }

  context(): FileContext {
    const random = seededRandom('context');
    const log = { log: (level: string, message: string) => void this.logs.push(`${level} ${message}`) };
    return {
      pve: this.pve,
      clock: this.clock,
      random,
      log,
      signal: new AbortController().signal,
      address: IMAGE,
      runId: 'run-1',
      stack: 'lab',
      lockedTicks: this.lockedTicks,
      ids: new IdReservations(),
      timeouts: this.timeouts,
      secret: () => undefined,
      intend: (intent) =>
        this.journal(() => {
          this.open = { action: this.open?.action ?? '', intent: JSON.parse(JSON.stringify(intent)), upid: undefined };
        }),
      attach: (upid) =>
        this.journal(() => {
          if (this.open) this.open = { ...this.open, upid };
        }),
      deleting: (work) => work(),
      whileBusy: (subject, work) =>
        retryWhileBusy(DEFAULT_RETRY, { clock: this.clock, random: random.fork('retry'), log, subject }, work),
      processes: { run: () => Promise.reject(new Error('no program runs here')) },
      hook: async () => {},
      progress: (text, percent) => void this.progress.push([text, percent]),
      file: (key) => this.files.get(key),
      learnFile: (key, file) =>
        this.journal(() => {
          if (file === null) this.files.delete(key);
          else this.files.set(key, JSON.parse(JSON.stringify(file)) as FileRecord);
        }),
      imageSource: () => this.source,
      remark: async () => {},
      warn: async () => {},
      ports: { isOpen: async () => true },
      signs: new GuestSigns(this.pve, this.clock),
    };
  }

  /** One step to its end; the input goes through JSON, as it does in a plan. */
  async step<Name extends FileActionName>(action: Name, input: FileInputs[Name]): Promise<void> {
    this.open = { action, intent: undefined, upid: undefined };
    await FILE_ACTIONS[action].run(this.context(), JSON.parse(JSON.stringify(input)) as FileInputs[Name]);
    await this.journal(() => {
      this.open = undefined;
    });
  }

  run<Name extends FileActionName>(action: Name, input: FileInputs[Name]): Promise<void> {
    return this.clock.run(() => this.step(action, input));
  }

  async failure<Name extends FileActionName>(action: Name, input: FileInputs[Name]): Promise<ProxwrightError> {
    return this.failureOf(action, () => this.step(action, input));
  }

  /** What the next run does first, in a new process. */
  async takeUp(): Promise<string> {
    this.lockedTicks = this.clock.ticks();
    this.pve = this.connect();
    if (!this.open) return 'nothing open';
    const { outcome } = await settleFile(this.context(), this.open);
    this.open = undefined;
    return outcome;
  }

  volume(node = 'pve1', volid = VOLID): Volume | undefined {
    const [storage = '', name = ''] = volid.split(':');
    const volumes = this.world.storages.get(storage)?.volumes;
    return (volumes?.get(node) ?? volumes?.get(''))?.get(name);
  }

  /** Everything here is below /nodes. */
  override sent(): string[] {
    return super.sent().map((line) => line.replace(' /nodes/', ' /'));
  }
}
