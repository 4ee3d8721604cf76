/** Builds a client from a transport, a clock, credentials and limits. */
import { type Clock, systemClock } from '../base/clock.ts';
import { Limiter } from '../base/limiter.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import { type Random, systemRandom } from '../base/random.ts';
import { KnownSecrets } from '../base/secret.ts';
import type { Transport } from '../base/transport.ts';
import { Access } from './api/access.ts';
import { Cluster } from './api/cluster.ts';
import { listNodes, type NodeEntry, NodeHandle } from './api/nodes/index.ts';
import { Pools } from './api/pools.ts';
import type { PveVersion } from './api/shapes.ts';
import { StorageDefinitions } from './api/storage.ts';
import { type CallOptions, Exchange } from './exchange.ts';
import { Fence } from './fence.ts';
import { type Credentials, principalOf, secretsIn } from './http/credentials.ts';
import type { Endpoint, Trust } from './http/endpoint.ts';
import { createHttpsTransport } from './http/https-transport.ts';
import { Session } from './http/session.ts';
import { Reach } from './reach.ts';
import { Api } from './request.ts';
import { TaskDurations } from './tasks/pace.ts';
import { DEFAULT_POLL_LIMITS, PollLimiter, type PollLimits, TaskWaiter } from './tasks/wait.ts';

export interface PveLimits {
  /** Concurrent requests. The server has three workers, and one slow call blocks one of them. */
  readonly requests: number;
  /** Concurrent calls to guest agents. */
  readonly agentCalls: number;
  readonly polls: PollLimits;
}

export const DEFAULT_LIMITS: PveLimits = { requests: 6, agentCalls: 2, polls: DEFAULT_POLL_LIMITS };

/** A server to connect to, or an existing transport (with a name for messages). */
export type PveConnection =
  | { readonly connection: { readonly endpoint: Endpoint; readonly trust?: Trust | undefined } }
  | { readonly transport: Transport; readonly endpoint?: string };

export type PveOptions = PveConnection & {
  readonly credentials: Credentials;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly limits?: Partial<PveLimits>;
  /** Where the client adds the secrets it uses, such as tickets; its errors contain none of them. */
  readonly secrets?: KnownSecrets;
};

export interface Pve {
  /** The URL of the server, for messages. */
  readonly endpoint: string;
  /** `user@realm` or `user@realm!token`. */
  readonly principal: string;
  /** Every secret that this client knows. */
  readonly secrets: KnownSecrets;
  readonly tasks: TaskWaiter;
  /** Whether the server answers, and for how long to try again. */
  readonly reach: Reach;
  /** Whether this process may still change the cluster. */
  readonly fence: Fence;
  /** How many requests were sent so far, retries included. */
  readonly requestsSent: number;
  readonly access: Access;
  readonly cluster: Cluster;
  readonly pools: Pools;
  readonly storage: StorageDefinitions;
  /** Verifies the credentials before concurrent requests begin. Caches the version. */
  authenticate(options?: CallOptions): Promise<PveVersion>;
  nodes(options?: CallOptions): Promise<NodeEntry[]>;
  /** Creating a handle sends no request. */
  node(name: string): NodeHandle;
  /**
   * For requests that must follow each other closely, such as a check and the change that relies on it: none of them
   * queues behind other requests. Pass the given options to each.
   */
  inOneSlot<T>(work: (options: CallOptions) => Promise<T>, signal?: AbortSignal): Promise<T>;
  close(): Promise<void>;
}

export function createPve(options: PveOptions): Pve {
  const { clock = systemClock, random = systemRandom, logger = silentLogger, credentials } = options;
  const { secrets = new KnownSecrets() } = options;
  secrets.add(...secretsIn(credentials));
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const endpoint = 'transport' in options ? (options.endpoint ?? 'the server') : options.connection.endpoint.url;
  const transport = 'transport' in options ? options.transport : createHttpsTransport(options.connection);
  const limiter = new Limiter(limits.requests);
  const reach = new Reach({ clock, logger, endpoint });
  const fence = new Fence();
  const exchange = new Exchange({
    transport,
    fence,
    endpoint,
    limiter,
    reach,
    clock,
    logger,
    secrets,
    random: random.fork('retries'),
  });
  const session = new Session({ exchange, credentials, clock, logger });
  const api = new Api(session, logger, new Limiter(limits.agentCalls));
  const pollLimiter = new PollLimiter(clock, limits.polls);
  const uploads = random.fork('uploads');
  const principal = principalOf(credentials);
  return {
    endpoint,
    principal,
    reach,
    fence,
    secrets,
    get requestsSent() {
      return exchange.sent;
    },
    tasks: new TaskWaiter({
      api,
      clock,
      logger,
      pollLimiter,
      reach,
      durations: new TaskDurations(),
      endpoint,
      principal,
      secrets,
    }),
    access: new Access(api),
    cluster: new Cluster(api),
    pools: new Pools(api),
    storage: new StorageDefinitions(api),
    authenticate: (callOptions) => session.authenticate(callOptions),
    nodes: (callOptions) => listNodes(api, callOptions),
    node: (name) => new NodeHandle(api, uploads, name),
    inOneSlot: (work, signal) => exchange.inOneSlot(work, signal),
    close: () => transport.close(),
  };
}
