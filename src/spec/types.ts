/** What a stack file becomes: every value concrete, still ignorant of the cluster. */
import type { Address } from '../base/address.ts';
import type { Where } from '../base/diagnostics.ts';
import type { VmFields } from '../resources/vm/fields.ts';

export interface ResolvedStack {
  readonly name: string;
  readonly connection: ConnectionSpec;
  /** In the order of the file, groups expanded. */
  readonly vms: readonly ResolvedVm[];
  readonly rollout: Rollout;
  readonly outputs: OutputsSpec;
}

/** Where a secret is found; never the secret. */
export type SecretReference =
  | { readonly env: string }
  | { readonly file: string }
  | { readonly command: readonly string[] };

/** What is absent comes from the environment. */
export interface ConnectionSpec {
  readonly endpoint?: string | undefined;
  readonly fingerprint?: string | undefined;
  /** Path of a PEM file. */
  readonly ca?: string | undefined;
  readonly token?: SecretReference | undefined;
}

export interface ResolvedVm {
  readonly address: Address;
  readonly group: string;
  /** Place in its group, from 1. */
  readonly number: number;
  readonly fields: VmFields;
  /** Ids it may have where `fields.vmid` is not set, shared by its group: member n prefers the nth. */
  readonly vmids?: readonly number[];
  /** VMs that must be ready first. */
  readonly after: readonly Address[];
  /** Addresses it had before a rename. */
  readonly formerly: readonly Address[];
  /** Field path (`nics.net0.vlan`; '' for the group) → where its value was written. */
  readonly positions: Readonly<Record<string, Where>>;
}

export interface Rollout {
  readonly staggerMs: number;
  readonly readiness: 'sequential' | 'parallel';
  readonly onFailure: 'continue' | 'stop';
  readonly retry: { readonly attempts: number; readonly firstMs: number; readonly maxMs: number };
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
    readonly startMs: number;
    readonly readyMs: number;
    readonly shutdownMs: number;
    readonly lockMs: number;
  };
}

export interface OutputsSpec {
  readonly talos?: { readonly vip?: string | undefined } | undefined;
  /** Directory for output files. */
  readonly files?: string | undefined;
}
