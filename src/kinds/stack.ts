/**
 * What a stack file becomes: every value is concrete, and nothing is known about the cluster yet. Each kind declares its part
 * in its own folder; here they are put together.
 */

import type { Address } from '../base/address.ts';
import type { ImagesInStack } from './image/stack.ts';
import type { TemplatesInStack } from './template/stack.ts';
import type { UpdateFields } from './vm/fields/lifecycle.ts';
import type { ResolvedVm, VmsInStack } from './vm/stack.ts';

export interface ResolvedStack extends ImagesInStack, TemplatesInStack, VmsInStack {
  readonly name: string;
  readonly connection: ConnectionSpec;
  /** Where the state is kept; without it, the environment decides. */
  readonly state?: StateSpec | undefined;
  readonly rollout: Rollout;
  readonly outputs: OutputsSpec;
}

/** Where to find a secret; never the secret itself. */
export type SecretReference =
  | { readonly env: string }
  | { readonly file: string }
  | { readonly command: readonly string[] };

/** Absent values come from the environment. */
export interface ConnectionSpec {
  readonly endpoint?: string | undefined;
  readonly fingerprint?: string | undefined;
  /** Path of a PEM file. */
  readonly ca?: string | undefined;
  readonly token?: SecretReference | undefined;
}

/** The store of the state: at most one is named; without one, the environment decides. */
export interface StateSpec {
  /** How many runs `runs` lists. */
  readonly keep_runs?: number | undefined;
  readonly local?: true | undefined;
  readonly postgres?: PostgresSpec | undefined;
  readonly s3?: S3Spec | undefined;
  readonly http?: HttpSpec | undefined;
}

export interface PostgresSpec {
  /** `postgres://user@host:port/database`, without a password. */
  readonly address: string;
  readonly password?: SecretReference | undefined;
  readonly schema?: string | undefined;
  /** Path of a PEM file. */
  readonly ca?: string | undefined;
}

export interface S3Spec {
  readonly bucket: string;
  readonly prefix?: string | undefined;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly profile?: string | undefined;
  readonly ca?: string | undefined;
}

export interface HttpSpec {
  readonly address: string;
  readonly update_method?: string | undefined;
  readonly lock_address?: string | undefined;
  readonly lock_method?: string | undefined;
  readonly unlock_address?: string | undefined;
  readonly unlock_method?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: SecretReference | undefined;
  readonly ca?: string | undefined;
}

export interface Rollout {
  readonly staggerMs: number;
  readonly readiness: 'sequential' | 'parallel';
  readonly onFailure: 'continue' | 'stop';
  /** For groups that set none. */
  readonly update: UpdateFields;
  /** For each disk that moves to another storage or format. */
  readonly diskMoveBytesPerSecond?: number;
  readonly retry: { readonly attempts?: number; readonly firstMs: number; readonly maxMs: number };
  readonly limits: {
    readonly vms: number;
    readonly clonesPerNode: number;
    readonly clonesPerStorage: number;
    readonly destroys: number;
    readonly requests: number;
    readonly agentCalls: number;
    readonly groupSize: number;
  };
  readonly timeouts: {
    readonly cloneMs: number;
    readonly diskMoveMs: number;
    readonly startMs: number;
    readonly readyMs: number;
    readonly shutdownMs: number;
    readonly lockMs: number;
    /** Until an image is in its storage. */
    readonly imageMs: number;
    /** For a server that does not answer. */
    readonly unreachableMs: number;
  };
}

export interface OutputsSpec {
  readonly talos?: { readonly vip?: string | undefined } | undefined;
  /** Directory for output files. */
  readonly files?: string | undefined;
}

/** Everything in a stack that is created as a VM: its templates, then its VMs. */
export function machinesOf({ templates, vms }: Pick<ResolvedStack, 'templates' | 'vms'>): readonly ResolvedVm[] {
  return [...templates.map(({ vm }) => vm), ...vms];
}

/**
 * The order in which Proxwright waits for VMs to become ready: that of the file, except that a VM follows the VMs named in its `after`: it cannot start before they are ready, and
 * waiting for it first would never end.
 */
export function waitOrder(
  vms: readonly { readonly address: Address; readonly after: readonly Address[] }[],
): Address[] {
  const byAddress = new Map(vms.map((vm) => [vm.address, vm]));
  const order = new Set<Address>();
  const underWay = new Set<Address>();
  const visit = (address: Address) => {
    const vm = byAddress.get(address);
    if (!vm || order.has(address) || underWay.has(address)) return;
    underWay.add(address);
    vm.after.forEach(visit);
    order.add(address);
  };
  for (const { address } of vms) visit(address);
  return [...order];
}
