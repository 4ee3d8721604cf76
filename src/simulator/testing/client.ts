/** For tests: a simulator of any world on a virtual clock, called over the wire. */
import { seededRandom } from '../../base/random.ts';
import type { StreamBody, WireResponse } from '../../base/transport.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { createSimulator, type Simulator } from '../core/simulator.ts';
import type { Faults } from '../faults/faults.ts';
import { buildWorld } from '../world/build-world.ts';
import type { TaskRecord, World } from '../world/world.ts';
import type { WorldFile } from '../world/world-file.ts';

/** The token of this client, for worlds without users. */
export const ADMIN_USER: WorldFile['users'] = {
  'root@pam': { tokens: { admin: { secret: '00000000-0000-4000-8000-000000000001', privsep: false } } },
};

const ADMIN = 'PVEAPIToken=root@pam!admin=00000000-0000-4000-8000-000000000001';
const BOUNDARY = 'test-boundary';

export interface UploadParts {
  readonly fields: Readonly<Record<string, string>>;
  readonly fileName: string;
}

export class TestClient {
  readonly clock = new VirtualClock();
  readonly world: World;
  readonly simulator: Simulator;
  /** Of the last answer to `ask`. */
  lastBody: { readonly message: string } = { message: '' };

  constructor(file: WorldFile, faults?: Faults) {
    this.world = buildWorld(file, { now: this.clock.now() });
    this.simulator = createSimulator({
      world: this.world,
      clock: this.clock,
      random: seededRandom('client'),
      ...(faults && { faults }),
    });
  }

  /** The data of a successful answer; anything else is thrown as `500 text`. */
  async ask(method: string, path: string, params: Readonly<Record<string, string | number>> = {}): Promise<unknown> {
    const texts = Object.entries(params).map(([name, value]): [string, string] => [name, String(value)]);
    const form = new URLSearchParams(texts).toString();
    const hasBody = method === 'POST' || method === 'PUT';
    const answer = await this.clock.run(() =>
      this.simulator.handle({
        method,
        target: `/api2/json${path}${hasBody || form === '' ? '' : `?${form}`}`,
        headers: {
          authorization: ADMIN,
          ...(hasBody && { 'content-type': 'application/x-www-form-urlencoded' }),
        },
        ...(hasBody && { body: form }),
      }),
    );
    this.lastBody = { message: '', ...(answer.body && JSON.parse(answer.body)) };
    return dataOf(answer);
  }

  /** Asks for a task and waits for its end. */
  async task(
    method: string,
    path: string,
    params: Readonly<Record<string, string | number>> = {},
  ): Promise<TaskRecord> {
    return this.ended(await this.ask(method, path, params));
  }

  async upload(path: string, parts: UploadParts, content: Uint8Array): Promise<TaskRecord> {
    const pieces = async function* () {
      yield content;
    };
    return this.ended(await this.uploadStream(path, parts, { sizeBytes: content.length, open: pieces }));
  }

  /** Answers the UPID. */
  async uploadStream(path: string, parts: UploadParts, content: StreamBody): Promise<unknown> {
    const [head, tail] = multipartFrame(parts);
    const body: StreamBody = {
      sizeBytes: head.length + content.sizeBytes + tail.length,
      open: async function* () {
        yield head;
        yield* content.open();
        yield tail;
      },
    };
    const headers = { authorization: ADMIN, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
    const request = { method: 'POST', target: `/api2/json${path}`, headers, body };
    return dataOf(await this.clock.run(() => this.simulator.transport().send(request)));
  }

  async ended(upid: unknown): Promise<TaskRecord> {
    const { tasks } = this.simulator.runtime;
    await this.clock.run(() => tasks.ended(String(upid)));
    const record = this.world.tasks.get(String(upid));
    if (!record) throw new Error(`${String(upid)} is not on record`);
    return record;
  }
}

/** The bytes before and after the file. */
function multipartFrame({ fields, fileName }: UploadParts): [Uint8Array, Uint8Array] {
  const part = (head: string, value: string) =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}`;
  const texts = Object.entries(fields).map(([name, value]) => `${part(`name="${name}"`, value)}\r\n`);
  const head = `${texts.join('')}${part(`name="filename"; filename="${fileName}"`, '')}`;
  return [Buffer.from(head), Buffer.from(`\r\n--${BOUNDARY}--\r\n`)];
}

function dataOf(answer: WireResponse): unknown {
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.reason}`);
  return (JSON.parse(answer.body) as { data: unknown }).data;
}
