/** What the doctor's checks look at, as plain data: examine.ts reads it once, and the checks make no further requests. */
import type { Clock, Instant } from '../../base/clock.ts';
import type { Transport } from '../../base/transport.ts';
import type { Readable } from '../../kinds/cluster.ts';
import type { Examined } from '../../kinds/doctor/examined.ts';
import type { ClusterStatusEntry, TokenEntry } from '../../pve/index.ts';
import type { PrivilegeCheck } from '../privileges/check.ts';

/** How the server's certificate is verified. */
export interface ObservedTrust {
  readonly kind: 'system' | 'ca' | 'fingerprint' | 'none';
  /** The pinned one. */
  readonly fingerprint?: string;
}

export interface Examination extends Examined {
  readonly now: Instant;
  readonly endpoint: string;
  readonly principal: string;
  readonly trust: ObservedTrust;
  readonly wire: WireTimes;
  readonly rights: ObservedRights;
  /** The token's entry in the list of its user; undefined for a login with a password. */
  readonly token: Readable<TokenEntry | undefined>;
  readonly cluster: Readable<readonly ClusterStatusEntry[]>;
}

export interface ObservedRights {
  readonly check: PrivilegeCheck;
  /** Whether the token has any privilege on any path. */
  readonly hasAny: boolean;
  /** Computed from the plan or, if there is none, from the file, assuming that everything it refers to exists. */
  readonly basis: 'plan' | 'assumed';
  readonly guesses: readonly string[];
}

export interface WireTimes {
  /** One duration for every response. */
  readonly tookMs: readonly number[];
  /** Server time minus local time, from the `Date` header of each response, which has whole seconds. */
  readonly skewsMs: readonly number[];
  /** How much faster than real time the server's clock runs on purpose; only a simulator has another value than 1. */
  readonly speed?: number;
}

export class WireWatch implements WireTimes {
  readonly tookMs: number[] = [];
  readonly skewsMs: number[] = [];
  speed = 1;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  watch(transport: Transport): Transport {
    return {
      send: async (request, options) => {
        const sentAt = this.#clock.now();
        const response = await transport.send(request, options);
        const receivedAt = this.#clock.now();
        this.tookMs.push(receivedAt - sentAt);
        const serverAt = parseHttpDate(response.headers.date);
        if (serverAt !== undefined) this.skewsMs.push(serverAt - (sentAt + receivedAt) / 2);
        return response;
      },
      close: () => transport.close(),
    };
  }
}

function parseHttpDate(text: string | undefined): Instant | undefined {
  const at = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}

export function median(numbers: readonly number[]): number | undefined {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
