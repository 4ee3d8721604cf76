/** What the cluster reports to every kind: nodes, guests and storages, as far as the token may read them. */
import { hasCode } from '../base/errors.ts';

/** A value, or the privileges that the token lacks to read it. */
export type Readable<Value> =
  | { readonly ok: true; readonly value: Value }
  /** Reported as not checked, never taken for correct. */
  | { readonly ok: false; readonly needs: string };

/** A missing privilege becomes the result; every other error is thrown. */
export async function readIfAllowed<Value>(read: () => Promise<Value>, needs: string): Promise<Readable<Value>> {
  try {
    return { ok: true, value: await read() };
  } catch (error) {
    if (hasCode(error, 'PRIVILEGE_MISSING')) return { ok: false, needs };
    throw error;
  }
}

/**
 * How old an answer may be, in milliseconds, if one process plans several resources. The server checks every change
 * again, and its own list of guests lags by some seconds.
 */
export const MAX_AGE_MS = { guests: 2_000, places: 10_000, templates: 5_000, grants: 30_000 } as const;

/** Figures only where the token may see them: Sys.Audit on the node. */
export interface NodeRow {
  readonly online: boolean;
  readonly cores?: number;
  readonly memory?: { readonly totalBytes: number; readonly usedBytes: number };
  /** In maintenance: the HA manager places no new guests here. */
  readonly inMaintenance?: true;
}

export interface GuestRow {
  readonly vmid: number;
  readonly node: string;
  readonly name: string | undefined;
  readonly template: boolean;
  readonly type: string;
  /** As the list of guests has it, which lags by some seconds. */
  readonly running?: boolean;
  /** As configured. */
  readonly memoryBytes?: number;
  readonly cores?: number;
  /** Only where the token may see it. */
  readonly pool?: string;
}

export interface StorageRow {
  readonly storage: string;
  readonly type: string;
  readonly content: ReadonlySet<string>;
  readonly active: boolean;
  readonly enabled: boolean;
  readonly shared: boolean;
  readonly availableBytes: number | undefined;
  readonly formats: readonly string[] | undefined;
}
