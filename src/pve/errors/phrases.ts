/**
 * The meaning of the server's messages. Proxmox reports nearly every error with status 500, and tasks end with only a
 * message, so the text decides. Each phrase here has a known emitter; a loose match would hide real failures. The same table
 * serves HTTP responses and the exit statuses of tasks. The first match wins.
 */

import { advice, setting } from '../../base/hint.ts';
import { nodeCommand, removeRemains } from '../../base/text/node-command.ts';
import { FILE_PHRASES } from './file-phrases.ts';
import { exact, type Phrase } from './phrase.ts';

export type { Phrase } from './phrase.ts';

const UNLOCK_HINT =
  'Wait until the other operation has ended, then try again; Proxmox shows it in the task log of the VM.';

export const PHRASES: readonly Phrase[] = [
  // Locks
  {
    code: 'GUEST_LOCKED',
    pattern: exact(String.raw`VM is locked \(destroyed\)$`),
    sample: 'VM is locked (destroyed)',
    source: 'pve-guest-common AbstractConfig.pm check_lock',
    hint: `A destroy of this VM was interrupted. Only root on its node can finish it: ${removeRemains('VMID')}`,
  },
  {
    code: 'GUEST_LOCKED',
    pattern: exact(String.raw`VM is locked \([\w-]+\)$`),
    sample: 'VM is locked (backup)',
    source: 'pve-guest-common AbstractConfig.pm check_lock',
    hint: UNLOCK_HINT,
  },
  {
    code: 'CONFIG_LOCKED',
    pattern: exact(String.raw`can't lock file '/var/lock/qemu-server/lock-\d+\.conf' - got timeout`),
    sample: "unable to create VM 312 - can't lock file '/var/lock/qemu-server/lock-312.conf' - got timeout",
    source: 'pve-guest-common AbstractConfig.pm lock_config; pve-common Tools.pm lock_file_full',
    hint: UNLOCK_HINT,
  },
  {
    code: 'CONFIG_LOCKED',
    pattern: exact(String.raw`can't lock file '/var/lock/pve-manager/pve-migrate-\d+' - got timeout`),
    sample: "can't lock file '/var/lock/pve-manager/pve-migrate-101' - got timeout",
    source: 'pve-guest-common GuestHelpers.pm guest_migration_lock',
    hint: UNLOCK_HINT,
  },
  {
    code: 'CONFIG_LOCKED',
    pattern: exact('unexpected state change$'),
    sample: 'unexpected state change',
    source: 'qemu-server API2/Qemu.pm clone_vm',
    hint: 'The source VM was started or stopped while the clone began; try again.',
  },
  {
    code: 'STORAGE_LOCKED',
    pattern: exact("can't lock file '/var/lock/pve-manager/pve-storage-[^']+' - got timeout"),
    sample: "clone failed: can't lock file '/var/lock/pve-manager/pve-storage-local' - got timeout",
    source: 'pve-storage Storage/Plugin.pm cluster_lock_storage',
  },
  {
    code: 'STORAGE_LOCKED',
    pattern: exact(`cfs-lock 'storage-[^']+' error: got lock request timeout`),
    sample: "clone failed: cfs-lock 'storage-ceph' error: got lock request timeout",
    source: 'pve-cluster Cluster.pm cfs_lock_storage',
  },
  {
    code: 'STORAGE_LOCKED',
    pattern: exact(`(?:cfs-lock 'storage-[^']+' error: )?'storage-[^']+'-locked command timed out - aborting`),
    sample: "clone failed: 'storage-nfs1'-locked command timed out - aborting",
    source: 'pve-cluster Cluster.pm $cfs_lock',
    hint: 'The storage is slow. Before you try again, check it for leftover volumes of this VM.',
  },
  {
    code: 'NO_QUORUM',
    pattern: exact(`cluster not ready - no quorum\\?|cfs-lock '[^']+' error: no quorum!`),
    sample: 'cluster not ready - no quorum?',
    source: 'pve-cluster Cluster.pm check_cfs_quorum, $cfs_lock',
    hint: `Start the missing cluster nodes; ${nodeCommand('pvecm status', [])} shows which nodes are online.`,
  },
  {
    code: 'CLUSTER_LOCKED',
    pattern: exact(`cfs-lock '[^']+' error: got lock request timeout`),
    sample: "can't add VM 101 to pool 'dev': cfs-lock 'file-user_cfg' error: got lock request timeout",
    source: 'pve-cluster Cluster.pm $cfs_lock; pve-access-control AccessControl.pm lock_user_config',
  },
  {
    code: 'CLUSTER_LOCKED',
    pattern: exact(`(?:cfs-lock '[^']+' error: )?'[^']+'-locked command timed out - aborting`),
    sample: "'file-user_cfg'-locked command timed out - aborting",
    source: 'pve-cluster Cluster.pm $cfs_lock',
  },
  // Workers
  {
    code: 'NOT_EXECUTED',
    pattern: exact(
      'got no worker upid - start worker failed|got strange worker upid \\(|starting worker failed: |unable to fork worker - ',
    ),
    sample: 'got no worker upid - start worker failed',
    source: 'pve-common RESTEnvironment.pm fork_worker',
  },
  {
    code: 'OUTCOME_UNKNOWN',
    // The worker was already running; only the update of the list of active tasks failed.
    pattern: exact(String.raw`can't lock file '/var/log/pve/tasks/\.active\.lock' - got timeout`),
    sample: "can't lock file '/var/log/pve/tasks/.active.lock' - got timeout",
    source: 'pve-common RESTEnvironment.pm active_workers',
  },
  // Taken ids, changed configurations
  {
    code: 'VMID_TAKEN',
    pattern: exact(String.raw`unable to create VM \d+: config file already exists`),
    sample: 'unable to create VM 9000: config file already exists',
    source: 'qemu-server API2/Qemu.pm clone_vm',
  },
  {
    code: 'VMID_TAKEN',
    pattern: exact(String.raw`(?:VM|CT) \d+ already exists(?: on node '[^']+')?$`),
    sample: "unable to create VM 322 - VM 322 already exists on node 'pve1'",
    source: 'pve-guest-common AbstractConfig.pm create_and_lock_config; pve-manager API2/Cluster.pm nextid',
  },
  {
    code: 'VMID_TAKEN',
    pattern: exact(String.raw`close \(rename\) atomic file '/etc/pve/nodes/[^']+/\d+\.conf' failed: File exists`),
    sample: "close (rename) atomic file '/etc/pve/nodes/pve1/qemu-server/102.conf' failed: File exists",
    source: 'pve-common File.pm file_set_contents; pve-cluster memdb.c memdb_rename',
  },
  {
    code: 'CONFIG_CHANGED',
    pattern: exact(String.raw`checksum mismatch \(file change by other user\?\)`),
    sample: 'checksum mismatch (file change by other user?)',
    source: 'qemu-server API2/Qemu.pm $update_vm_api, resize_vm',
    hint: 'Another client changed this VM in the meantime. Make a new plan.',
  },
  {
    code: 'CONFIG_CHANGED',
    pattern: exact(String.raw`detected modified configuration - file changed by other user\? Try again\.`),
    sample: 'detected modified configuration - file changed by other user? Try again.',
    source: 'pve-common Tools.pm assert_if_modified',
    hint: 'Another client changed this in the meantime. Make a new plan.',
  },
  // Privileges
  {
    code: 'ROOT_ONLY',
    pattern: exact(`only root can set '[^']+' config`),
    sample: "only root can set 'hostpci0' config for non-mapped devices",
    source: 'qemu-server API2/Qemu.pm $check_vm_modify_config_perm',
    hint: 'No token may do this, not even one of root@pam. For PCI and USB devices use a resource mapping instead.',
  },
  {
    code: 'ROOT_ONLY',
    pattern: exact('Only root may use this option\\.|Only root can pass arbitrary filesystem paths\\.'),
    sample: 'Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 651.',
    source: 'qemu-server API2/Qemu.pm; pve-storage Storage.pm check_volume_access',
    hint: 'No token may do this, not even one of root@pam.',
  },
  {
    code: 'ROOT_ONLY',
    pattern: exact(
      String.raw`Permission check failed \(URI '[^']+' not available with API token, need proper ticket\.`,
    ),
    sample: "Permission check failed (URI '/access/password' not available with API token, need proper ticket.\n)",
    source: 'pve-manager HTTPServer.pm rest_handler',
    hint: 'This call needs a login with user name and password instead of a token.',
  },
  {
    code: 'NOT_FOUND',
    subject: 'pool',
    pattern: exact(String.raw`(?:Permission check failed \()?pool '[^']+' does not exist`),
    sample: "Permission check failed (pool 'nosuch' does not exist)",
    source: 'pve-access-control RPCEnvironment.pm check_pool_exist; pve-manager API2/Pool.pm',
  },
  {
    code: 'PRIVILEGE_MISSING',
    pattern: exact('Permission check failed'),
    sample: '403 Permission check failed (/storage/local2, Datastore.AllocateSpace)',
    source: 'pve-common Exception.pm raise_perm_exc',
  },
  {
    code: 'TICKET_EXPIRED',
    pattern: exact('[Pp]ermission denied - invalid (?:csrf token|\\w+ ticket)'),
    sample: 'Permission denied - invalid csrf token',
    source: 'pve-common Ticket.pm verify_csrf_prevention_token, verify_rsa_ticket',
  },
  {
    code: 'LOGIN_REFUSED',
    pattern: exact('No ticket$|Authentication failed!|authentication failure'),
    sample: 'Authentication failed!',
    source: 'pve-manager HTTPServer.pm auth_handler; pve-access-control API2/AccessControl.pm create_ticket',
  },
  // Absence
  {
    code: 'NOT_FOUND',
    subject: 'guest',
    pattern: exact(String.raw`Configuration file 'nodes/[^']+/(?:qemu-server|lxc)/\d+\.conf' does not exist`),
    sample: "Configuration file 'nodes/pve1/qemu-server/4711.conf' does not exist",
    source: 'pve-guest-common AbstractConfig.pm load_config',
  },
  {
    code: 'NOT_FOUND',
    subject: 'guest',
    pattern: exact(
      String.raw`unable to find configuration file for VM \d+ on node '[^']+'|could not find target VM \d+`,
    ),
    sample: "unable to find configuration file for VM 4711 on node 'pve1'",
    source: 'qemu-server QemuConfig.pm assert_config_exists_on_node; API2/Qemu.pm move_vm_disk',
  },
  {
    code: 'NOT_FOUND',
    subject: 'node',
    pattern: exact(`no such cluster node '[^']+'|hostname lookup '[^']+' failed - `),
    sample:
      "hostname lookup 'nosuch' failed - failed to get address info for: nosuch: Temporary failure in name resolution",
    source: 'pve-cluster Cluster.pm check_node_exists, remote_node_ip',
  },
  {
    code: 'NOT_FOUND',
    subject: 'storage',
    pattern: exact(`storage '[^']+' does not exist|No such storage\\.`),
    sample: "unable to create VM 213 - storage 'nosuch' does not exist",
    source: 'pve-storage Storage.pm storage_config; API2/Storage/Status.pm',
  },
  {
    code: 'NOT_FOUND',
    subject: 'volume',
    pattern: exact(`volume '[^']+' does not exist|failed to stat '[^']+'$`),
    sample: "unable to create VM 213 - volume 'local:iso/nosuch.iso' does not exist",
    source: 'pve-storage Storage.pm; qemu-server QemuServer.pm',
  },
  {
    code: 'NOT_FOUND',
    subject: 'disk',
    pattern: exact(`disk '[^']+' does not exist`),
    sample: "disk 'scsi9' does not exist",
    source: 'qemu-server API2/Qemu.pm resize_vm, move_vm_disk',
  },
  {
    code: 'NOT_FOUND',
    subject: 'snapshot',
    pattern: exact(`snapshot '[^']+' does not exist`),
    sample: "snapshot 'nosuch' does not exist",
    source: 'pve-guest-common AbstractConfig.pm; qemu-server API2/Qemu.pm clone_vm',
  },
  {
    code: 'NOT_FOUND',
    subject: 'task',
    pattern: exact('no such task$'),
    sample: 'no such task',
    source: 'pve-manager API2/Tasks.pm read_task_status',
  },
  {
    code: 'NOT_FOUND',
    subject: 'mapping',
    pattern: exact(`mapping '[^']+' not found|(?:PCI|USB) device mapping not found for '[^']+'`),
    sample: "PCI device mapping not found for 'other'",
    source: 'pve-manager API2/Cluster/Mapping; pve-guest-common Mapping/PCI.pm find_on_current_node',
  },
  {
    code: 'NOT_FOUND',
    subject: 'other',
    pattern: exact(
      String.raw`bridge '[^']+' does not exist|no such resource '[^']+'|HA (?:rule|group) '[^']+' does not exist|no such ha group '[^']+'|cannot delete service '[^']+', not HA managed!|no such user \('[^']+'\)|no such token '[^']+'|role '[^']+' does not exist`,
    ),
    sample: "bridge 'vmbr9' does not exist",
    source: 'pve-common Network.pm tap_plug; pve-ha-manager API2/HA/Resources.pm; pve-access-control',
  },
  // Presence
  {
    code: 'ALREADY_RUNNING',
    pattern: exact(String.raw`VM \d+ already running$`),
    sample: 'VM 507 already running',
    source: 'qemu-server QemuServer.pm vm_start_nolock',
  },
  {
    code: 'NOT_RUNNING',
    pattern: exact(String.raw`VM \d+ (?:is )?not running$`),
    sample: 'VM 331 not running',
    source: 'qemu-server API2/Qemu.pm vm_reset, vm_reboot; QemuServer/Agent.pm',
  },
  {
    code: 'ALREADY_EXISTS',
    pattern: exact(
      `disk image '[^']+' already exists|cloud-init drive is already attached at '|refusing to override existing file '|snapshot name '[^']+' already used`,
    ),
    sample: "disk image '/var/lib/vz/images/326/vm-326-cloudinit.qcow2' already exists",
    source: 'pve-storage Storage/Plugin.pm alloc_image; qemu-server API2/Qemu.pm; pve-guest-common AbstractConfig.pm',
  },
  {
    code: 'ALREADY_EXISTS',
    pattern: exact(
      `(?:pool|user|role|storage ID) '[^']+' already (?:exists|defined)|(?:pci|usb|dir|resource) ID '[^']+' already defined|(?:HA rule|ha group ID) '[^']+' already defined`,
    ),
    sample: "create hardware mapping failed: pci ID 'gpu' already defined",
    source: 'pve-manager API2/Pool.pm, API2/Cluster/Mapping; pve-access-control API2/User.pm, API2/Role.pm',
  },
  {
    code: 'PARAMETER_REJECTED',
    pattern: exact(String.raw`Rule '[^']+' is invalid\.`),
    sample: "create ha rule failed: 400 Rule 'apart' is invalid.",
    source: 'pve-ha-manager API2/HA/Rules.pm $check_feasibility',
    hint: 'The rule contradicts another HA rule or the number of nodes; Datacenter, HA, Affinity Rules shows all of them.',
  },
  {
    code: 'PARAMETER_REJECTED',
    pattern: exact("service '[^']+' in error state, must be disabled and fixed first$"),
    sample: "service 'vm:3214' in error state, must be disabled and fixed first",
    source: 'pve-ha-manager API2/HA/Resources.pm check_service_state',
    hint: 'The HA manager gave up on this VM. Find out why it does not start, apply state: disabled once, then the desired state.',
  },
  {
    code: 'PROTECTED',
    pattern: exact("can't remove (?:VM|drive|unused disk) .* - protection mode enabled$"),
    sample: "can't remove VM 338 - protection mode enabled",
    source: 'pve-guest-common AbstractConfig.pm check_protection',
    hint: 'Turn off the protection of this VM first.',
  },
  {
    code: 'IN_USE',
    pattern: exact("base volume '[^']+' is still in use by linked clone[ds]$"),
    sample: "base volume 'tank:base-9000-disk-0' is still in use by linked cloned",
    source: 'qemu-server QemuServer.pm destroy_vm; pve-storage Storage.pm vdisk_free',
    hint: 'Linked clones use the disks of this template. Destroy them first, or make them independent: move their disks to another storage.',
  },
  // Guest agent
  {
    code: 'AGENT_UNAVAILABLE',
    pattern: exact('No QEMU guest agent configured$'),
    sample: 'No QEMU guest agent configured',
    source: 'qemu-server QemuServer/Agent.pm assert_agent_available',
    hint: advice`Enable the agent in the VM (${setting('agent', { enabled: true })}) and restart it.`,
  },
  {
    code: 'AGENT_UNAVAILABLE',
    pattern: exact('QEMU guest agent is not running$'),
    sample: 'QEMU guest agent is not running',
    source: 'qemu-server QemuServer/Agent.pm assert_agent_available',
    hint: 'The guest is still booting, or qemu-guest-agent is not installed.',
  },
  {
    code: 'AGENT_UNAVAILABLE',
    pattern: exact(String.raw`VM \d+ qga command '[^']+' failed - |unable to connect to VM \d+ qga socket - `),
    sample: "VM 101 qga command 'guest-network-get-interfaces' failed - got timeout",
    source: 'qemu-server QMPClient.pm',
  },
  ...FILE_PHRASES,
  // The rest
  {
    code: 'NO_SPACE',
    pattern: /(?:^|: )No space left on device$/,
    sample: 'qemu-img: error while writing at byte 67108864: No space left on device',
    source: 'the message of ENOSPC, passed on by qemu-img',
    hint: 'Free space on the storage, or choose another one.',
    inLog: true,
  },
  {
    code: 'NOT_IMPLEMENTED',
    pattern: exact(
      "Method '[A-Z]+ /[^']*' not implemented$|cannot index groups: ha groups have been migrated to rules",
    ),
    sample: "Method 'GET /nosuch' not implemented",
    source: 'pve-manager HTTPServer.pm rest_handler',
  },
  {
    code: 'PARAMETER_REJECTED',
    pattern: exact(
      "Parameter verification failed\\.|parameter '[^']+' not allowed for linked clones|invalid bootorder: |no options specified$|shrinking disks is not supported$|SSH public key validation error|balloon value too large ",
    ),
    sample: "invalid bootorder: device 'scsi9' does not exist'",
    source: 'pve-common Exception.pm raise_param_exc; qemu-server API2/Qemu.pm $update_vm_api, clone_vm, resize_vm',
  },
];

export function findPhrase(text: string): Phrase | undefined {
  const trimmed = text.trim();
  return PHRASES.find((phrase) => phrase.pattern.test(trimmed));
}

/** Of the proxy, about its connection to the API daemon or to another node [source pve-http-server AnyEvent.pm proxy_request]. */
export function isBrokenConnection(text: string): boolean {
  return /^broken pipe\b/i.test(text.trim());
}

export function findPhraseInLog(lines: readonly string[]): Phrase | undefined {
  return PHRASES.find((phrase) => phrase.inLog && lines.some((line) => phrase.pattern.test(line.trim())));
}
