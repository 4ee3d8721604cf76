/** A whole provider on a simulated cluster, on virtual time: configured as a host would do it, asked as a host would ask. */
import { silentLogger } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { decodeMsgpack, encodeMsgpack } from '../../../src/provider/cty/codec.ts';
import { type CtyObject, type CtyValue, isObject, isWhollyKnown, objectOf } from '../../../src/provider/cty/value.ts';
import { createProvider, type ProcessDeps } from '../../../src/provider/index.ts';
import type { Provider, ProviderDiagnostic } from '../../../src/provider/provider.ts';
import { type Attributes, objectType } from '../../../src/provider/schema/model.ts';
import { dottedOf } from '../../../src/provider/values/diagnostics.ts';
import { createSimulator, defaultWorld, type Simulator, type World } from '../../../src/simulator/index.ts';

// On virtual time nothing waits for the disk, so what the provider loads late is loaded before.
await Promise.all([
  import('../../../src/provider/configure/deps.ts'),
  import('../../../src/provider/data/index.ts'),
  import('../../../src/provider/kinds/image/resource.ts'),
  import('../../../src/provider/kinds/template/resource.ts'),
  import('../../../src/provider/kinds/vm/resource.ts'),
]);

export const ADMIN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';
export const NO_RIGHTS = 'guest@pve!none=00000000-0000-4000-8000-000000000002';

export type Written = { readonly [name: string]: CtyValue };

export interface Answer {
  readonly state: CtyObject | null;
  /** `error name: first line of the detail`. */
  readonly told: readonly string[];
  readonly diagnostics: readonly ProviderDiagnostic[];
}

export class ProviderBench {
  readonly clock = new VirtualClock();
  readonly simulator: Simulator;
  readonly requests: string[] = [];

  constructor(world: (options: { now: number }) => World = defaultWorld) {
    const { clock } = this;
    this.simulator = createSimulator({ world: world({ now: clock.now() }), clock, random: seededRandom('world') });
  }

  get world(): World {
    return this.simulator.runtime.world;
  }

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.clock.run(work);
  }

  /** A provider process, configured by this token. */
  async process(token = ADMIN, more: Partial<ProcessDeps> = {}): Promise<Provider> {
    const inner = this.simulator.transport();
    const provider = await createProvider({
      log: silentLogger,
      clock: this.clock,
      random: seededRandom('process'),
      environment: { PROXMOX_VE_ENDPOINT: 'https://pve1.test:8006', PROXMOX_VE_API_TOKEN: token },
      connectTransport: () => ({
        send: (request, options) => {
          this.requests.push(`${request.method} ${request.target.replace('/api2/json', '')}`);
          return inner.send(request, options);
        },
        close: async () => {},
      }),
      ...more,
    });
    const problems = await configure(provider);
    if (problems.length > 0) throw new Error(problems.map(({ detail }) => detail).join('\n'));
    return provider;
  }
}

export function configure(provider: Provider, written: Written = {}): Promise<readonly ProviderDiagnostic[]> {
  return provider.configure({ config: complete(written, provider.schema.attributes), hostVersion: '1.11.4' });
}

/** Validates and reads; a state must be wholly known, fit its type and echo what was written, as the host demands. */
export async function readData(
  provider: Provider,
  type: string,
  written: Written = {},
  call: AbortSignal = new AbortController().signal,
): Promise<Answer> {
  const source = await provider.dataSources.get(type)?.();
  if (!source) throw new Error(`there is no data source ${type}`);
  const { attributes } = source.schema;
  const config = complete(written, attributes);
  const refused = await source.validate(config);
  const { state, diagnostics } =
    refused.length > 0 ? { state: null, diagnostics: refused } : await source.read(config, call);
  if (state) assertAcceptable(state, written, attributes);
  return { state, diagnostics, told: diagnostics.map(told) };
}

export const told = ({ severity, path = [], detail }: ProviderDiagnostic) =>
  `${severity} ${dottedOf(path) || '-'}: ${detail.split('\n')[0]}`;

export function complete(written: Written, attributes: Attributes): CtyObject {
  const strange = Object.keys(written).filter((name) => !Object.hasOwn(attributes, name));
  if (strange.length > 0) throw new Error(`there is no ${strange.join(', ')}`);
  return objectOf(Object.keys(attributes).map((name) => [name, written[name] ?? null]));
}

function assertAcceptable(state: CtyObject, written: Written, attributes: Attributes): void {
  if (!isWhollyKnown(state)) throw new Error('The state holds something unknown.');
  const type = objectType(attributes);
  const sent = decodeMsgpack(encodeMsgpack(state, type), type);
  if (!isObject(sent)) throw new Error('The state is no object.');
  for (const [name, value] of Object.entries(written)) {
    if (JSON.stringify(sent[name]) !== JSON.stringify(value)) throw new Error(`${name} is not what was written.`);
  }
}
