/** The public API of the Proxmox VE client, exported as `proxwright/pve`. */

export type { Subject } from '../base/errors.ts';
export type { Environment } from '../base/processes.ts';
export type { StreamBody } from '../base/transport.ts';
export type { Access, AclEntry, Permissions, Role, TokenEntry } from './api/access.ts';
export type {
  Cluster,
  ClusterOptions,
  ClusterResource,
  ClusterStatusEntry,
  DeviceMapping,
  Mappings,
} from './api/cluster.ts';
export type {
  HaGroup,
  HaGroupParams,
  HaGroups,
  HaResource,
  HaResourceParams,
  HaResources,
  HaRule,
  HaRuleParams,
  HaRules,
} from './api/ha.ts';
export type {
  CpuModel,
  NodeEntry,
  NodeHandle,
  NodeInterface,
  NodeStatus,
  PciDevice,
  UsbDevice,
} from './api/nodes/index.ts';
export type { GuestExecStatus, GuestInterface, GuestOsInfo, VmAgent } from './api/nodes/qemu/agent.ts';
export type { ConfigChange, PendingEntry, VmConfigHandle } from './api/nodes/qemu/config.ts';
export type {
  CloneParams,
  CreateVmParams,
  DestroyParams,
  MigrateParams,
  MoveDiskParams,
  ResizeParams,
  VmEntry,
  VmHandle,
} from './api/nodes/qemu/index.ts';
export type { SnapshotEntry } from './api/nodes/qemu/snapshot.ts';
export type { VmStatus } from './api/nodes/qemu/status.ts';
export type {
  ChecksumAlgorithm,
  DownloadUrlParams,
  NodeStorage,
  NodeStorageEntry,
  StorageFilter,
  StorageStatus,
  UploadParams,
  VolumeEntry,
} from './api/nodes/storage.ts';
export type { NodeTasks, TaskEntry, TaskFilter, TaskLogLine, TaskStatus } from './api/nodes/tasks.ts';
export type { Pool, Pools } from './api/pools.ts';
export type { PveVersion } from './api/shapes.ts';
export type { StorageDefinition, StorageDefinitions } from './api/storage.ts';
export { createPve, DEFAULT_LIMITS, type Pve, type PveConnection, type PveLimits, type PveOptions } from './client.ts';
export { type MissingPrivilege, missingPrivilege } from './errors/failures.ts';
export {
  isConnectionLost,
  isConnectionTrouble,
  isLockContention,
  isNotExecuted,
  isNotFound,
  isOutcomeUnknown,
} from './errors/kinds.ts';
export type { CallOptions } from './exchange.ts';
export { connectionFromEnvironment, type EnvironmentConnection, requireConnection } from './http/connection-options.ts';
export {
  type Credentials,
  type PasswordCredentials,
  parseToken,
  passwordCredentials,
  type TokenCredentials,
  tokenFrom,
} from './http/credentials.ts';
export { caTrust, type Endpoint, fingerprintTrust, parseEndpoint, systemTrust, type Trust } from './http/endpoint.ts';
export { createHttpsTransport, type HttpsTransportOptions } from './http/https-transport.ts';
export type { TaskProgress } from './tasks/task-reports.ts';
export type { PollLimits, TaskResult, TaskWaiter, WaitOptions } from './tasks/wait.ts';
export * from './wire/index.ts';
