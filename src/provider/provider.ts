/**
 * What the protocol asks of a provider, without the protocol: values are plain data, problems are diagnostics, nothing here
 * knows gRPC. `host/` translates; resources and data sources implement. Calls that ask a server get a signal that fires when
 * the host has canceled the call.
 */
import type { AttributePath } from './cty/path.ts';
import type { CtyObject } from './cty/value.ts';
import type { Schema } from './schema/model.ts';

export interface ProviderDiagnostic {
  readonly severity: 'error' | 'warning';
  /** Of the engine's diagnostic, for our own decisions; the host is shown the text only. */
  readonly code?: string;
  /** One short sentence without an address. */
  readonly summary: string;
  /** What is wrong, why, and what to do. */
  readonly detail: string;
  readonly path?: AttributePath;
  /** For our own use: the field, which `path` may shorten, and `detail` without what only a host needs. */
  readonly about?: { readonly field: string; readonly reason: string };
}

/** Opaque bytes the host keeps per instance; never secrets. */
export type PrivateState = Uint8Array | undefined;

/** What the host can do. */
export interface HostCapabilities {
  readonly writeOnlyAttributes: boolean;
}

/** A process serves a few calls, and most of them name the same type, so each type is loaded when a call first names it. */
export type Loader<Thing> = () => Promise<Thing>;

export interface Provider {
  readonly schema: Schema;
  readonly resources: ReadonlyMap<string, Loader<ResourceType>>;
  readonly dataSources: ReadonlyMap<string, Loader<DataSource>>;
  validate(config: CtyObject): Promise<readonly ProviderDiagnostic[]>;
  /** Values may be unknown while planning. Nothing slow happens here. */
  configure(request: {
    readonly config: CtyObject;
    readonly hostVersion: string;
  }): Promise<readonly ProviderDiagnostic[]>;
  /** Ctrl-C: pending calls end soon and report what exists. */
  stop(): void;
}

export interface ResourceType {
  readonly schema: Schema;
  /** Any value may be unknown. */
  validate(config: CtyObject, capabilities: HostCapabilities): Promise<readonly ProviderDiagnostic[]>;
  /** From the JSON an earlier version stored to an object of the current schema; attributes that are missing become null. */
  upgrade(request: { readonly version: number; readonly state: unknown }): Promise<UpgradeResult>;
  /** Null where the object is gone. */
  read(request: ReadRequest, call: AbortSignal): Promise<ReadResult>;
  plan(request: PlanRequest, call: AbortSignal): Promise<PlanResponse>;
  apply(request: ApplyRequest, call: AbortSignal): Promise<ApplyResult>;
  import(id: string, call: AbortSignal): Promise<ImportResult>;
  /** From another provider's resource; undefined if none can be translated. */
  move?(request: MoveRequest): Promise<ImportResult | undefined>;
}

export interface UpgradeResult {
  readonly state: unknown;
  readonly diagnostics: readonly ProviderDiagnostic[];
}

export interface ReadRequest {
  readonly state: CtyObject;
  readonly private: PrivateState;
}

export interface ReadResult {
  readonly state: CtyObject | null;
  readonly private: PrivateState;
  readonly diagnostics: readonly ProviderDiagnostic[];
}

export interface PlanRequest {
  /** Null: to be created. */
  readonly prior: CtyObject | null;
  /** The host's merge of config and prior; null: to be destroyed. */
  readonly proposed: CtyObject | null;
  readonly config: CtyObject | null;
  readonly private: PrivateState;
}

export interface PlanResponse {
  readonly planned: CtyObject | null;
  readonly requiresReplace: readonly AttributePath[];
  readonly private: PrivateState;
  readonly diagnostics: readonly ProviderDiagnostic[];
}

export interface ApplyRequest {
  readonly prior: CtyObject | null;
  readonly planned: CtyObject | null;
  readonly config: CtyObject | null;
  readonly private: PrivateState;
}

export interface ApplyResult {
  /** Null: nothing exists, or nothing that the host may keep. */
  readonly state: CtyObject | null;
  readonly private: PrivateState;
  readonly diagnostics: readonly ProviderDiagnostic[];
}

export interface ImportResult {
  /** Enough for `read`, which follows at once; null with an error. */
  readonly state: CtyObject | null;
  readonly private: PrivateState;
  readonly diagnostics: readonly ProviderDiagnostic[];
}

export interface MoveRequest {
  readonly sourceProvider: string;
  readonly sourceType: string;
  readonly sourceVersion: number;
  readonly sourceState: unknown;
}

export interface DataSource {
  readonly schema: Schema;
  validate(config: CtyObject): Promise<readonly ProviderDiagnostic[]>;
  /** Wholly known; echoes the arguments. */
  read(
    config: CtyObject,
    call: AbortSignal,
  ): Promise<{
    readonly state: CtyObject | null;
    readonly diagnostics: readonly ProviderDiagnostic[];
  }>;
}
