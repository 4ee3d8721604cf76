/** Watches what goes over the wire: how long answers take, and what the server's clock says in them. */
import type { Clock, Instant } from '../../base/clock.ts';
import type { Transport } from '../../base/transport.ts';

export interface WireTimes {
  /** Of every answer so far. */
  readonly tookMs: readonly number[];
  /** Server minus here, by the `Date` of each answer; it is given in whole seconds. */
  readonly skewsMs: readonly number[];
}

export class WireWatch implements WireTimes {
  readonly tookMs: number[] = [];
  readonly skewsMs: number[] = [];
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

/** The middle one; undefined of none. */
export function median(numbers: readonly number[]): number | undefined {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
