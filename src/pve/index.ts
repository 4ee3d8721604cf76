/** The public face of the Proxmox VE client, exported as `proxwright/pve`. */

export type { Subject } from '../base/errors.ts';
export type { StreamBody } from '../base/transport.ts';
export type { Access, AclEntry, Permissions, Role, TokenEntry } from './api/access/index.ts';
export type { HaResource, HaResourceParams, HaResources } from './api/cluster/ha.ts';
export type { Cluster, ClusterOptions, ClusterResource, ClusterStatusEntry } from './api/cluster/index.ts';
export type { DeviceMapping, Mappings } from './api/cluster/mapping.ts';
export type { PciDevice, UsbDevice } from './api/nodes/hardware.ts';
export type { NodeEntry, NodeHandle, NodeStatus } from './api/nodes/index.ts';
export type { NodeInterface } from './api/nodes/network.ts';
export type { GuestExecStatus, GuestInterface, GuestOsInfo, VmAgent } from './api/nodes/qemu/agent.ts';
export type { CloneParams, MigrateParams } from './api/nodes/qemu/clone.ts';
export type { ConfigChange, PendingEntry, VmConfigHandle } from './api/nodes/qemu/config.ts';
export type { MoveDiskParams, ResizeParams } from './api/nodes/qemu/disks.ts';
export type { CreateVmParams, DestroyParams, VmEntry, VmHandle } from './api/nodes/qemu/index.ts';
export type { SnapshotEntry } from './api/nodes/qemu/snapshot.ts';
export type { VmStatus } from './api/nodes/qemu/status.ts';
export type { VolumeEntry } from './api/nodes/storage/content.ts';
export type { NodeStorage, NodeStorageEntry, StorageFilter, StorageStatus } from './api/nodes/storage/index.ts';
export type { ChecksumAlgorithm, DownloadUrlParams, UploadParams } from './api/nodes/storage/transfer.ts';
export type { NodeTasks, TaskEntry, TaskFilter, TaskLogLine, TaskStatus } from './api/nodes/tasks.ts';
export type { Pool, Pools } from './api/pools.ts';
export type { StorageDefinition, StorageDefinitions } from './api/storage.ts';
export type { PveVersion } from './api/version.ts';
export { createPve, DEFAULT_LIMITS, type Pve, type PveConnection, type PveLimits, type PveOptions } from './client.ts';
export {
  isConnectionTrouble,
  isLockContention,
  isNotExecuted,
  isNotFound,
  isOutcomeUnknown,
  isSightLost,
} from './errors/kinds.ts';
export { type MissingPrivilege, missingPrivilege } from './errors/privileges.ts';
export type { CallOptions } from './exchange.ts';
export {
  connectionFromEnvironment,
  type Environment,
  type EnvironmentConnection,
  requireConnection,
} from './http/connection-options.ts';
export {
  type Credentials,
  type PasswordCredentials,
  parseToken,
  passwordCredentials,
  type TokenCredentials,
  tokenFrom,
} from './http/credentials.ts';
export { type Endpoint, parseEndpoint } from './http/endpoint.ts';
export { createHttpsTransport, type HttpsTransportOptions } from './http/https-transport.ts';
export { caTrust, fingerprintTrust, systemTrust, type Trust } from './http/trust.ts';
export type { PollLimits } from './tasks/poll-limiter.ts';
export type { TaskProgress } from './tasks/progress.ts';
export type { TaskResult, TaskWaiter, WaitOptions } from './tasks/wait.ts';
export * from './wire/index.ts';
