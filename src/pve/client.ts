/** Puts a client together out of the four doors, credentials and limits. */
import { type Clock, systemClock } from '../base/clock.ts';
import { Limiter } from '../base/limiter.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import { type Random, systemRandom } from '../base/random.ts';
import type { Transport } from '../base/transport.ts';
import { Access } from './api/access/index.ts';
import { Cluster } from './api/cluster/index.ts';
import { listNodes, type NodeEntry, NodeHandle } from './api/nodes/index.ts';
import { Pools } from './api/pools.ts';
import { StorageDefinitions } from './api/storage.ts';
import type { PveVersion } from './api/version.ts';
import { type CallOptions, Exchange } from './exchange.ts';
import { type Credentials, principalOf } from './http/credentials.ts';
import type { Endpoint } from './http/endpoint.ts';
import { createHttpsTransport } from './http/https-transport.ts';
import { Session } from './http/session.ts';
import type { Trust } from './http/trust.ts';
import { Api } from './request.ts';
import { DEFAULT_POLL_LIMITS, PollLimiter, type PollLimits } from './tasks/poll-limiter.ts';
import { TaskWaiter } from './tasks/wait.ts';

export interface PveLimits {
  /** Requests at once. The server has three workers, and one slow call blocks one of them. */
  readonly requests: number;
  /** Calls to guest agents at once. */
  readonly agentCalls: number;
  readonly polls: PollLimits;
}

export const DEFAULT_LIMITS: PveLimits = { requests: 6, agentCalls: 2, polls: DEFAULT_POLL_LIMITS };

/** A server to connect to, or a transport that is there already (with a name for messages). */
export type PveConnection =
  | { readonly connection: { readonly endpoint: Endpoint; readonly trust?: Trust | undefined } }
  | { readonly transport: Transport; readonly endpoint?: string };

export type PveOptions = PveConnection & {
  readonly credentials: Credentials;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly limits?: Partial<PveLimits>;
};

export interface Pve {
  /** The server as people know it. */
  readonly endpoint: string;
  /** `user@realm` or `user@realm!token`. */
  readonly principal: string;
  readonly tasks: TaskWaiter;
  readonly access: Access;
  readonly cluster: Cluster;
  readonly pools: Pools;
  readonly storage: StorageDefinitions;
  /** Proves the credentials before anything parallel begins. The version is remembered. */
  authenticate(options?: CallOptions): Promise<PveVersion>;
  nodes(options?: CallOptions): Promise<NodeEntry[]>;
  /** A handle; building it calls nothing. */
  node(name: string): NodeHandle;
  close(): Promise<void>;
}

export function createPve(options: PveOptions): Pve {
  const { clock = systemClock, random = systemRandom, logger = silentLogger, credentials } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const endpoint = 'transport' in options ? (options.endpoint ?? 'the server') : options.connection.endpoint.url;
  const transport = 'transport' in options ? options.transport : createHttpsTransport(options.connection);
  const limiter = new Limiter(limits.requests);
  const exchange = new Exchange({ transport, endpoint, limiter, clock, logger, random: random.fork('retries') });
  const session = new Session({ exchange, credentials, clock, logger });
  const api = new Api(session, logger, new Limiter(limits.agentCalls));
  const scheduler = new PollLimiter(clock, limits.polls);
  const uploads = random.fork('uploads');
  const principal = principalOf(credentials);
  return {
    endpoint,
    principal,
    tasks: new TaskWaiter({ api, clock, logger, scheduler, endpoint, principal }),
    access: new Access(api),
    cluster: new Cluster(api),
    pools: new Pools(api),
    storage: new StorageDefinitions(api),
    authenticate: (callOptions) => session.authenticate(callOptions),
    nodes: (callOptions) => listNodes(api, callOptions),
    node: (name) => new NodeHandle(api, uploads, name),
    close: () => transport.close(),
  };
}
